"""The published packages: exact versions, brought by pip into a cache and unpacked without running any of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("packages.txt")


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution to be checked; `source` says that its examples come only with the source archive."""

    name: str
    version: str
    source: bool

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}" + ("-source" if self.source else "")


def listed() -> Iterator[Package]:
    """The packages of `packages.txt`: `NAME==VERSION`, and the word `source` where the source archive is meant."""
    for line in LIST.read_text().splitlines():
        words = line.partition("#")[0].split()
        if words:
            name, _, version = words[0].partition("==")
            yield Package(name, version, "source" in words[1:])


def cache() -> Path:
    """Where the packages are kept: `gradpath-published` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradpath-published"


def unpacked(package: Package) -> Path | None:
    """The folder with the files of a package, fetched where it is not there yet; None where pip cannot bring it."""
    folder = cache() / package.folder
    if folder.exists():
        return folder
    archive = _downloaded(package)
    if archive is None:
        return None
    part = folder.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    if archive.name.endswith((".whl", ".zip")):
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(part)
    else:
        with tarfile.open(archive) as source:
            source.extractall(part, filter="data")
    archive.unlink()
    part.rename(folder)
    return folder


def _downloaded(package: Package) -> Path | None:
    """The archive of a package. A wheel is fetched for one platform, so that everybody checks the same files.

    For a source archive pip asks the package's build backend for its metadata; nothing else of it is run.
    """
    into = cache() / "archives" / package.folder
    into.mkdir(parents=True, exist_ok=True)
    kind = [f"--no-binary={package.name}"]
    if not package.source:
        platforms = ("any", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")
        kind = ["--only-binary=:all:", "--python-version=3.11", *(f"--platform={each}" for each in platforms)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "--dest", str(into)]
    answer = subprocess.run([*command, f"{package.name}=={package.version}"], capture_output=True, text=True)
    if answer.returncode:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{package.name} {package.version}: pip cannot bring it: {reason}", file=sys.stderr)
        return None
    return next(into.iterdir(), None)
