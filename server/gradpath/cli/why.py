"""`gradpath why`: why a module or a parameter gets no gradient, or what trains it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradpath.cli.flow import explored
from gradpath.cli.opening import opened, tell_gaps
from gradpath.cli.status import CLEAN, FOUND, UsageError
from gradpath.cli.terminal import style_for
from gradpath.render.width import wrapped
from gradpath.support.suggestions import did_you_mean

if TYPE_CHECKING:
    from gradpath.features.flow.answers import Answer
    from gradpath.source.document import Document


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath why`."""
    parser.epilog = "Exit status: 0 answered; 1 not known; 2 bad usage, or a file that cannot be read."
    parser.add_argument("file", metavar="FILE", help="a Python file or a notebook")
    parser.add_argument("name", metavar="NAME", help="a module, a parameter or an optimizer, such as `encoder`")
    parser.add_argument(
        "--output-format", choices=("full", "json"), default="full", help="text or JSON (default: full)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the answer to standard output."""
    document, _ = opened(arguments.file)
    analysis = explored(document)
    from gradpath.features.flow.answers import Fate, answers_to, is_named, names_in, told
    from gradpath.features.flow.find import flows_of

    flows, name = flows_of(analysis), arguments.name
    tell_gaps(analysis.incomplete, document)
    answers = answers_to(flows, name, document.path)
    if not answers and not is_named(analysis.parsed.tree, name):
        hint = did_you_mean(name, names_in(flows))
        raise UsageError(f"{document.path} has no module, parameter or optimizer called `{name}`{hint}")
    if arguments.output_format == "json":
        sys.stdout.write(_as_json(name, answers, document))
    else:
        width = style_for(sys.stdout).width
        for line in told(answers, flows, name, document, analysis.parsed.tree).splitlines():
            print("\n".join(wrapped(line, width, "    ")))
    return CLEAN if any(each.fate is not Fate.UNKNOWN for each in answers) else FOUND


def _as_json(name: str, answers: Sequence[Answer], document: Document) -> str:
    from gradpath.features.flow.as_json import reason_as_json

    found = [
        {
            "entry": each.entry,
            "name": each.name,
            "parameters": each.count,
            "fate": each.fate.value,
            "message": each.headline,
            "sentences": list(each.sentences),
            "reasons": [reason_as_json(reason, document) for reason in each.reasons],
        }
        for each in answers
    ]
    return json.dumps({"version": 1, "path": document.path, "name": name, "answers": found}, indent=1) + "\n"
