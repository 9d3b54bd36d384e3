"""One line a diagnostic, for grep and for logs."""

from __future__ import annotations

from gradpath.diagnostic import Diagnostic
from gradpath.render.report import place_name
from gradpath.render.style import BOLD, LEVEL_COLOURS, PLAIN, Style
from gradpath.render.width import safe_start, safe_text


def render_concise(diagnostic: Diagnostic, style: Style = PLAIN) -> str:
    """`path:line:column: level[rule]: headline`."""
    start = diagnostic.range.start
    place = style.paint(
        safe_start(f"{place_name(diagnostic.path, diagnostic.cell)}:{start.line}:{start.column}:"), BOLD
    )
    level = style.paint(f"{diagnostic.level.value}[{diagnostic.rule}]", LEVEL_COLOURS[diagnostic.level])
    return f"{place} {level}: {safe_text(diagnostic.message)}"
