"""`python -m gradpath` is the same program as `gradpath`."""

from __future__ import annotations

from gradpath.cli import program

if __name__ == "__main__":
    program()
