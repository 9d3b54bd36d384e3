"""The program of a process that asks jedi for the files of modules; nothing of a project is executed.

Its arguments are the folders of gradpath and of the libraries that it needs. One request a line on standard input, one
answer a line on standard output, both JSON: `{"module", "importer", "root", "folders"}` and `{"path"}`, which is null
where there is no such module. `folders` are the project's `sys.path`.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _reading_alone() -> Any:
    """An environment for jedi that imports nothing: to look into a compiled module jedi would load it."""
    from jedi import settings  # type: ignore[import-untyped]
    from jedi.api.environment import InterpreterEnvironment  # type: ignore[import-untyped]
    from jedi.inference.compiled.subprocess import InferenceStateSameProcess  # type: ignore[import-untyped]

    class ReadingAlone(InferenceStateSameProcess):  # type: ignore[misc]
        def load_module(self, dotted_name: str, sys_path: object) -> Any:
            from jedi.inference.compiled.subprocess import functions

            # Built-in modules are in no folder, so that nothing can take their place.
            if dotted_name not in sys.builtin_module_names:
                return None
            return functions.load_module(self._inference_state_weakref(), dotted_name=dotted_name, sys_path=[])

    class Environment(InterpreterEnvironment):  # type: ignore[misc]
        def get_inference_state_subprocess(self, inference_state: Any) -> Any:
            return ReadingAlone(inference_state)

    settings.auto_import_modules = []
    return Environment()


def locate(module: str, importer: str, root: str, folders: list[str]) -> str | None:
    """The file of a module as jedi finds it, or None."""
    import jedi

    code = f"import {module}"
    project = jedi.Project(root, sys_path=folders, smart_sys_path=False)
    script = jedi.Script(code, path=importer, project=project, environment=_reading_alone())
    for name in script.goto(1, len(code), follow_imports=True):
        if name.module_path is not None:
            return str(Path(name.module_path))
    return None


def main() -> None:
    """Answer requests until standard input ends; a request that fails is answered with null."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What jedi prints is no answer.
    for line in _requests():
        path = None
        try:
            path = locate(**json.loads(line))
        except Exception as error:  # noqa: BLE001  # jedi fails in many ways; none of them is worth a process.
            print(error, file=sys.stderr)
        answers.write(json.dumps({"path": path}) + "\n")
        answers.flush()


def _requests() -> Iterator[str]:
    """The lines of standard input; when it ends, so does the process, whatever it is doing."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield lines.get()


if __name__ == "__main__":
    sys.path += sys.argv[1:]
    main()
