"""Makes hostile trees: each seed gives another one."""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable
from pathlib import Path

FAULTY = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = w.exp().sum()\nloss.backward()\nloss.backward()\n"
GIANT = 3_000_000_000
STARS = "a*" * 30 + "b"
NAMES = ("train.py", "setup.py", "setup.cfg", "pyproject.toml", "gradpath.toml", ".gitignore", "n.ipynb", "data.py")
ODD_NAMES = (
    "::stop-commands::x.py",
    "a\nb.py",
    "\x1b[31mred.py",
    "\udcff\udcfe.py",
    "a" * 200 + ".py",
    "'; rm -rf x.py",
    "-x.py",
    " .py",
)
CONTENTS = (
    b"a = " + b"[" * 100_000,
    b"a" + b".a" * 200_000 + b" = 1",
    b"\xff\xfe\x00\x00",
    b"\xef\xbb\xbf[tool.gradpath]\nselect = ['double-backwards']\n",
    f"[tool.gradpath]\nexclude = ['{STARS}']\nper-file-ignores = {{'{STARS}' = ['loop']}}\n".encode(),
    b"[tool.gradpath]\npython = '/dev/zero'\nlevels = {x = 'y'}\n",
    f"{STARS}\n!{'**/' * 900}\n{'[' * 5000}\n".encode(),
    b"package_dir={" * 60_000,
    b"[options]\npackage_dir = " + b" " * 200_000 + b"x\n",
    b'{"cells": ' + b"[" * 100_000,
    json.dumps({"cells": [{"cell_type": "code", "source": FAULTY}]}).encode(),
    b"\x00" * 1000,
    b"",
    FAULTY.encode(),
)


def make(top: Path, outside: Path, seed: int) -> None:
    """Fill the folder `top`; links in it may lead to files in `outside`, which nothing may change."""
    dice = random.Random(seed)
    (outside / "victim.py").write_text(FAULTY)
    (outside / "folder").mkdir(exist_ok=True)
    (top / "good.py").write_text(FAULTY.replace("import torch", "import torch, data"))
    folders = [top, top / "package", top / "a" / "b"]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for _ in range(8):
        place = dice.choice(folders) / dice.choice((*NAMES, *ODD_NAMES))
        if not os.path.lexists(place):
            dice.choice(KINDS)(place, outside, dice)
    dice.choice(CACHES)(top, outside)
    if dice.random() < 0.2:
        _deep(top / "deep")


def _content(place: Path, outside: Path, dice: random.Random) -> None:
    place.write_bytes(dice.choice(CONTENTS))


def _pipe(place: Path, outside: Path, dice: random.Random) -> None:
    os.mkfifo(place)


def _device(place: Path, outside: Path, dice: random.Random) -> None:
    place.symlink_to(dice.choice(("/dev/zero", "/dev/random", "/dev/full")))


def _socket(place: Path, outside: Path, dice: random.Random) -> None:
    here = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{here}/s")
    os.close(here)
    os.rename(place.parent / "s", place)


def _giant(place: Path, outside: Path, dice: random.Random) -> None:
    with place.open("wb") as file:
        file.truncate(GIANT)


def _circle(place: Path, outside: Path, dice: random.Random) -> None:
    place.symlink_to(dice.choice((place.name, "..", ".", "nowhere")))


def _way_out(place: Path, outside: Path, dice: random.Random) -> None:
    place.symlink_to(dice.choice((outside / "victim.py", outside / "folder")))


def _folder(place: Path, outside: Path, dice: random.Random) -> None:
    place.mkdir()


def _deep(top: Path) -> None:
    """Folders whose path is longer than the system takes at once."""
    before = os.getcwd()
    top.mkdir()
    os.chdir(top)
    for _ in range(120):
        name = "d" * 60
        os.mkdir(name)
        os.chdir(name)
        Path("x.py").write_text("import torch\n")
    os.chdir(before)


def _no_cache(top: Path, outside: Path) -> None:
    return


def _linked_cache(top: Path, outside: Path) -> None:
    (top / ".gradpath_cache").symlink_to(outside / "folder")


def _linked_ignore_file(top: Path, outside: Path) -> None:
    (top / ".gradpath_cache").mkdir()
    (top / ".gradpath_cache" / ".gitignore").symlink_to(outside / "new")


def _cache_that_is_a_pipe(top: Path, outside: Path) -> None:
    os.mkfifo(top / ".gradpath_cache")


KINDS: tuple[Callable[[Path, Path, random.Random], None], ...] = (
    _content,
    _content,
    _content,
    _pipe,
    _device,
    _socket,
    _giant,
    _circle,
    _way_out,
    _folder,
)
CACHES: tuple[Callable[[Path, Path], None], ...] = (
    _no_cache,
    _linked_cache,
    _linked_ignore_file,
    _cache_that_is_a_pipe,
)
