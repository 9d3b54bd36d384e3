"""`gradpath schema` and `gradpath guide`: what editors and coding assistants are told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gradpath.cli import _COMMANDS
from gradpath.config import config_from
from gradpath.rules import RULES
from gradpath.support import toml
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
FAMILIES = {rule.family for rule in RULES.values()}


@pytest.fixture
def schema(gradpath_main: Run) -> dict[str, Any]:
    found = json.loads(gradpath_main("schema").out)
    jsonschema.Draft7Validator.check_schema(found)
    return found


def valid(text: str, schema: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft7Validator(schema).is_valid(toml.loads(text)))


RIGHT = [
    "",
    'select = ["graph", "detached-loss"]\nignore = []',
    'levels = { live-accumulator = "hint", loop = "off" }',
    'exclude = ["third_party/"]\npython = ".venv/bin/python"',
    'per-file-ignores = { "tests/**" = ["loop"] }\nassume = { backward = ["a.b"], pure = [], differentiable = ["c"] }',
]
WRONG = [
    'select = ["double-backwards"]',
    'levels = { live-accumulator = "loud" }',
    'levels = { live-accumulators = "hint" }',
    'per-file-ignores = { "x" = ["lop"] }',
    'assume = { forward = ["a"] }',
    'selct = ["graph"]',
    "exclude = 3",
]


@pytest.mark.parametrize("text", [*RIGHT, *WRONG])
def test_the_schema_takes_what_the_program_takes(text: str, schema: dict[str, Any]) -> None:
    _, complaints = config_from(toml.loads(text), {*RULES, *FAMILIES})
    assert valid(text, schema) == (complaints == ()) == (text in RIGHT)


def test_the_example_of_the_page_on_configuration_is_valid(schema: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n\[tool.gradpath\]\n(.*?)```", page, re.DOTALL)
    assert example is not None
    assert valid(example[1], schema)


def test_vs_code_has_the_schema_and_knows_the_names_of_all_rules(schema: dict[str, Any]) -> None:
    assert json.loads((ROOT / "client-vscode" / "gradpath.schema.json").read_text()) == schema
    package = json.loads((ROOT / "client-vscode" / "package.json").read_text())
    settings = package["contributes"]["configuration"]["properties"]
    names = schema["$defs"]["rule"]["enum"]
    assert set(names) == {*RULES, *FAMILIES}
    assert settings["gradpath.select"]["items"]["enum"] == settings["gradpath.ignore"]["items"]["enum"] == names
    assert settings["gradpath.levels"]["propertyNames"]["enum"] == names
    assert settings["gradpath.per-file-ignores"]["additionalProperties"]["items"]["enum"] == names


def test_the_guide_names_commands_and_options_that_there_are_and_every_rule(gradpath_main: Run) -> None:
    guide = gradpath_main("guide").out
    commands = set(re.findall(r"\bgradpath ([a-z]+)\b", guide.partition("## Check")[2]))
    assert commands <= set(_COMMANDS)
    assert {"check", "rule", "explain", "run", "flow", "why", "graph"} <= commands
    assert set(re.findall(r"--[a-z-]+", guide)) <= set(re.findall(r"--[a-z-]+", gradpath_main("check", "--help").out))
    assert all(f"  {rule} " in guide for rule in RULES)
