"""The site, as `npm run site` makes it: its pages lead nowhere that is not there, and its playground works by itself.

Needs the folder that `tests/editors/setup.sh` fills, named by `GRADPATH_EDITORS`, for the browser.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from gradpath.rules import RULES

HERE = Path(__file__).parent
SITE = HERE.parents[2] / "client-vscode" / "dist" / "site"
EDITORS = Path(os.environ.get("GRADPATH_EDITORS", ""))
PAGES = sorted(SITE.rglob("*.html"))
PATIENCE = 180

pytestmark = pytest.mark.skipif(not PAGES, reason="the site is not built")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_every_rule_has_a_page_without_the_grammar_of_the_tests() -> None:
    for rule in RULES:
        page = (SITE / "rules" / f"{rule}.html").read_text("utf-8")
        assert f'<h1 id="{rule}">{rule}</h1>' in page
        assert not re.search(r"# (?:error|warning|hint): \[|# raises:|py fixed", page), rule


def test_every_link_leads_to_something_that_is_there() -> None:
    identities = {page: set(re.findall(r' id="([^"]+)"', page.read_text("utf-8"))) for page in PAGES}
    missing = []
    for page in PAGES:
        for link in re.findall(r'(?:href|src)="([^"]*)"', page.read_text("utf-8")):
            path, _, fragment = link.partition("#")
            there = (page.parent / unquote(path)).resolve() if path else page
            if re.match(r"https?:", link):
                continue
            if not there.is_file() or (fragment and there in identities and fragment not in identities[there]):
                missing.append(f"{page.relative_to(SITE)}: {link}")
    assert missing == []


def test_a_page_compiles_nothing_before_its_first_answer() -> None:
    for name in ("gradpath.zip", "python_stdlib.zip"):
        with zipfile.ZipFile(SITE / "web" / name) as archive:
            names = archive.namelist()
        assert [each for each in names if each.endswith(".py")] == []
        assert len([each for each in names if each.endswith(".pyc")]) > 300
    memory = gzip.decompress((SITE / "web" / "snapshot.gz").read_bytes())
    assert b"gradpath.analysis.check" in memory  # Loaded already.


@pytest.mark.skipif(
    not os.environ.get("GRADPATH_EDITORS"), reason="GRADPATH_EDITORS does not name the browser's folder"
)
def test_the_playground_checks_draws_and_mends_a_sample_and_asks_nobody(address: str, tmp_path: Path) -> None:
    shots = Path(os.environ.get("GRADPATH_SHOTS", tmp_path))
    environment = {**os.environ, "PATH": f"{EDITORS / 'bin'}{os.pathsep}{os.environ['PATH']}", "EDITORS": str(EDITORS)}
    command = ["node", str(HERE / "playground.mjs"), address, str(shots)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{done.stderr}\n(screenshots: {shots})"
    seen = json.loads(done.stdout)
    print(f"first answer after {seen['first']} ms, after an edit {seen['edit']} ms", end=", ")
    print(f"while fixes are tried {max(seen['during'])} ms")
    assert "needs the graph of fake" in seen["story"]
    assert "Trying to backward through the graph a second time" in seen["story"]
    assert any("freed by the backward on line 78" in box for box in seen["boxes"])
    assert seen["again"] == seen["mended"]
    assert "fake.detach()" in seen["mended"]
    assert seen["wide"] <= 400
    assert seen["elsewhere"] == []
    file = tmp_path / "mended.py"
    file.write_text(seen["mended"])
    run = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
