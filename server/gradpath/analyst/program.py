"""The program of the analysis process: nothing of the folder in which it is started is executed.

Its arguments are the folders of gradpath and of the libraries that it needs (see `isolation`).
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Serve the process that has started this one until it closes the pipe."""
    from gradpath.support.quick_imports import import_quickly

    import_quickly()
    from gradpath.analyst.serving import serve

    # Messages use streams that nothing else reads or prints to.
    inlet, outlet = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    serve(inlet, outlet)


if __name__ == "__main__":
    sys.path += sys.argv[1:]
    main()
