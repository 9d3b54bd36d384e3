"""`python -m gradpath` is the same program as `gradpath`."""

from __future__ import annotations

import sys

from gradpath.cli import main

if __name__ == "__main__":
    sys.exit(main())
