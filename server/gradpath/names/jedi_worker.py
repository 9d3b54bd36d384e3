"""A process of its own that asks jedi where modules lie: `python -m gradpath.names.jedi_worker`.

jedi asks the interpreter of the project's environment, and so learns what its import hooks find. One request a line on
standard input, one answer a line on standard output, both JSON: `{"module", "importer", "root", "prefix"}` and
`{"path"}`, which is null where there is no such module.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any


@cache
def _script(root: str, prefix: str) -> Callable[..., Any]:
    """What makes a script of a project for jedi."""
    import jedi  # type: ignore[import-untyped]

    # The environment is the one that the user works in: what it runs at its start it runs there all the time.
    environment = jedi.create_environment(prefix, safe=False)
    return partial(jedi.Script, project=jedi.Project(root, environment_path=prefix), environment=environment)


def locate(module: str, importer: str, root: str, prefix: str) -> str | None:
    """The file of a module as jedi finds it, or None."""
    code = f"import {module}"
    script = _script(root, prefix)(code, path=importer)
    for name in script.goto(1, len(code), follow_imports=True):
        if name.module_path is not None:
            return str(Path(name.module_path))
    return None


def main() -> None:
    """Answer requests until standard input ends; a request that fails is answered with null."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What jedi or an environment prints is no answer.
    # Bytecode that the interpreter of an environment wrote there would count as a change of it.
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for line in sys.stdin:
        path = None
        try:
            path = locate(**json.loads(line))
        except Exception as error:  # noqa: BLE001  # jedi fails in many ways; none of them is worth a process.
            print(error, file=sys.stderr)
        answers.write(json.dumps({"path": path}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
