"""A diagnostic as plain lines: for services that show text and know no labels."""

from __future__ import annotations

from gradpath.diagnostic import Diagnostic
from gradpath.render.width import safe_text


def story_text(diagnostic: Diagnostic) -> str:
    """The headline, the steps of the story in execution order, and the help, one a line."""
    steps = [
        f"{number}. {label.path}:{label.range.start.line}: {label.message}"
        for number, label in enumerate(diagnostic.labels, start=1)
    ]
    help_lines = [f"help: {diagnostic.help}"] if diagnostic.help else []
    return "\n".join(safe_text(line) for line in [diagnostic.message, *steps, *help_lines])
