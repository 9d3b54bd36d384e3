"""`gradpath schema`: the JSON schema of `gradpath.toml` and of `[tool.gradpath]`, for editors and checkers."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gradpath.cli.status import CLEAN
from gradpath.config import ASSUMPTIONS, LEVELS
from gradpath.rules import RULES


def configure(parser: argparse.ArgumentParser) -> None:
    """`gradpath schema` takes no arguments."""
    parser.epilog = "The names of rules in it are those of this version."


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    print(json.dumps(schema(), indent=1))
    return CLEAN


def schema() -> dict[str, Any]:
    """The schema, with every rule and family there is."""
    rules = {"$ref": "#/$defs/rules"}
    texts = {"type": "array", "items": {"type": "string"}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "gradpath",
        "description": "The configuration of gradpath: gradpath.toml, or [tool.gradpath] in pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "select": {"description": "Rules or families to report; empty: all.", **rules},
            "ignore": {"description": "Rules or families not to report.", **rules},
            "levels": {
                "description": "The level of rules or families.",
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/rule"},
                "additionalProperties": {"enum": list(LEVELS)},
            },
            "exclude": {"description": "What is not checked, as patterns of .gitignore from this folder.", **texts},
            "per-file-ignores": {
                "description": "Rules or families not to report in the files of a pattern.",
                "type": "object",
                "additionalProperties": rules,
            },
            "python": {"description": "The environment of the project; it is read, not started.", "type": "string"},
            "baseline": {
                "description": "The file with the mistakes that are known: only others are reported.",
                "type": "string",
            },
            "assume": {
                "description": "What is taken for granted of calls whose code is not seen, by their dotted names.",
                "type": "object",
                "additionalProperties": False,
                "properties": dict.fromkeys(ASSUMPTIONS, texts),
            },
        },
        "$defs": {
            "rule": {"type": "string", "enum": names()},
            "rules": {"type": "array", "items": {"$ref": "#/$defs/rule"}},
        },
    }


def names() -> list[str]:
    """The families and the rules, in the order of the table of rules."""
    return [*dict.fromkeys(rule.family for rule in RULES.values()), *RULES]
