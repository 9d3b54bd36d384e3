"""The command: measure how fast gradpath is, and print it as JSON.

    PYTHONPATH=tests:server python -m bench [--rivals ENVIRONMENT/bin] [--edits N] [--soak N]

Other servers are measured where an environment has them: `pip install 'pyright[nodejs]' python-lsp-server ruff`.
`python -m bench.published` is about published packages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path

from bench import checking, cold, edits, soak, start


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--rivals", type=Path, help="the folder with the commands of other servers")
    parser.add_argument("--edits", type=int, default=40, help="edits of each kind")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--soak", type=int, default=1000, help="edits of the soak")
    arguments = parser.parse_args()
    machine = {"python": platform.python_version(), "processors": os.cpu_count(), "load before": os.getloadavg()}
    found = {
        "machine": machine,
        "check": checking.measure(),
        "check as a process": cold.measure(arguments.starts),
        "edits, 1000 lines": edits.measure(1000, arguments.edits, arguments.rivals),
        "edits, 5000 lines": edits.measure(5000, max(arguments.edits // 4, 4), None),
        "start": start.measure(arguments.starts),
        "soak": soak.measure(arguments.soak),
        "load after": os.getloadavg(),
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
