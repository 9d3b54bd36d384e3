"""SARIF of the real analysis, held against the schema of the format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gradpath.cli import main

SAMPLES = Path(__file__).parents[2] / "samples"

# The schema as Microsoft's validator of SARIF brings it (MIT licence).
SCHEMA = Path(__file__).with_name("sarif-2.1.0.json")


def test_sarif_of_the_samples_is_valid_by_its_schema(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    samples = sorted(str(path) for path in (SAMPLES / "faulty").iterdir() if path.suffix in (".py", ".ipynb"))[-3:]
    assert {Path(each).suffix for each in samples} == {".py", ".ipynb"}
    arguments = ["check", "--output-format", "sarif", *samples, "no such file.py"]
    assert main(arguments) == 2
    log = json.loads(capfdbinary.readouterr().out)
    results = log["runs"][0]["results"]
    assert any("fixes" in result for result in results)
    assert any("codeFlows" in result for result in results)
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(log)] == []
