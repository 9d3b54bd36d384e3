"""What callers in other files show about a file: their arguments are the values of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gradpath.analysis import entry_points
from gradpath.analysis.check import LEAN, Analysis, check
from gradpath.config import Config
from gradpath.names.callers import callers_of
from gradpath.names.files import TREES
from gradpath.names.project import Project
from gradpath.source.document import UnreadableSource, read_document

CALLERS = 3
"""The most callers of a file that are examined."""


def seen_from_callers(
    analysis: Analysis, config: Config, project: Project, cancelled: Callable[[], bool]
) -> tuple[Analysis, ...]:
    """The analyses of files that run code of an analysed one; those that are open in the editor are left out.

    Only functions of which a rule could speak are looked for. Slow, compared with the check of the file itself.
    """
    file = Path(analysis.document.path)
    parsed = TREES.of_document(analysis.document, None)
    names = {entry.owner or entry.function.name for entry in entry_points.functions(parsed)}
    found: list[Analysis] = []
    for path in callers_of(project, file, names, CALLERS, cancelled) if names else ():
        if cancelled():
            break
        if project.read(path) is not None:
            continue
        try:
            document = read_document(path)
        except UnreadableSource:
            continue
        seen = check(document, config, cancelled=cancelled, project=project, depth=LEAN)
        if file in seen.dependencies:
            found.append(seen)
    return tuple(found)
