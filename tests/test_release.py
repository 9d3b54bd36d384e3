"""What a release consists of says the same everywhere: one version, one address, a changelog that has both."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from gradpath import __version__
from gradpath.analysis.check import check
from gradpath.source.document import read_document
from gradpath.support import toml

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "client-vscode"


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_written_in_one_place_alone() -> None:
    assert "version" in toml.loads(read("pyproject.toml"))["project"]["dynamic"]
    assert json.loads(read("client-vscode/package.json"))["version"] == "0.0.0"
    assert 'server", "gradpath", "__init__.py"' in read("client-vscode/scripts/package.mjs")


def test_both_changelogs_have_the_last_version_below_what_is_not_released() -> None:
    for name in ("server/CHANGELOG.md", "client-vscode/CHANGELOG.md"):
        unreleased, *released = re.findall(r"^## (\S+)", read(name), re.MULTILINE)
        assert unreleased == "Unreleased", name
        assert released[:1] in ([], [__version__]), name  # None has been published so far.


def test_the_extension_is_packed_without_allowances() -> None:
    scripts = json.loads(read("client-vscode/package.json"))["scripts"]
    assert "allow" not in scripts["package"] + read("client-vscode/scripts/package.mjs")


def test_a_release_is_tried_with_every_python_that_the_package_names() -> None:
    classifiers = toml.loads(read("pyproject.toml"))["project"]["classifiers"]
    named = [each.rpartition(" ")[2] for each in classifiers if re.search(r":: 3\.\d+$", each)]
    for workflow in ("check.yml", "release.yml"):
        listed = re.search(r"python: \[(.*)\]", read(f".github/workflows/{workflow}"))
        assert listed is not None
        assert [each.strip(' "') for each in listed[1].split(",")] == named, workflow


def test_every_picture_of_the_extensions_page_is_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", read("client-vscode/README.md"))
    assert pictures
    assert all((CLIENT / picture).is_file() for picture in pictures)


def test_the_sample_of_the_walkthrough_fails_as_it_is_told() -> None:
    sample = CLIENT / "walkthrough" / "sample.py"
    run = subprocess.run([sys.executable, str(sample)], capture_output=True, text=True, timeout=120)
    assert "backward through the graph a second time" in run.stderr
    assert [each.rule for each in check(read_document(sample)).diagnostics] == ["carried-graph"]
