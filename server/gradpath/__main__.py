"""The program, as the command `gradpath`, as `python -m gradpath`, and by the path of this file.

The path is for starting it in a folder that is not trusted: `python -m gradpath` runs whatever is called `gradpath`
there. Nothing but the package is imported before `sys.path` is in order.
"""

import os
import sys


def program() -> None:
    """Run the command line; the process ends with it."""
    from gradpath.support.isolation import leave_current_folder

    leave_current_folder()
    from gradpath.support.quick_imports import import_quickly

    import_quickly()
    from gradpath.cli import program as run

    run()


if __name__ == "__main__":
    if __spec__ is None:  # By its path: Python has put the folder of this file first, where it wants the one around it.
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [os.path.dirname(here), *(each for each in sys.path if each != here)]
    program()
