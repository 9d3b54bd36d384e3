"""The exit statuses of the program."""

from __future__ import annotations

CLEAN = 0
"""Nothing was found at error or warning level."""
FOUND = 1
"""Something was found."""
UNUSABLE = 2
"""Bad usage, a file that cannot be read or written, or a broken configuration."""
INTERRUPTED = 130
BROKEN_PIPE = 141


class UsageError(Exception):
    """Arguments that make no sense; the text is one line."""
