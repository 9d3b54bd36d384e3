"""Paths and URIs."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path, PureWindowsPath
from urllib.parse import quote, unquote, urlsplit

from gradpath.support.lazy_regex import regex

_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.-]+:")  # Longer than the letter of a Windows drive.


@lru_cache(maxsize=1024)
def path_of(uri: str) -> str:
    """The path of a `file:` URI, or the URI itself for any other: an untitled document has no path."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    if parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    if os.name == "nt":
        # `/C:/x` has a slash that a Windows path does not.
        return str(PureWindowsPath(path[1:] if path[2:3] == ":" else path))
    return path


@lru_cache(maxsize=1024)
def uri_of(path: str) -> str:
    """The `file:` URI of a path; what already is a URI stays."""
    if _SCHEME.match(path):
        return path
    absolute = Path(os.path.abspath(path))
    return absolute.as_uri() if os.name == "nt" else "file://" + quote(str(absolute))


@lru_cache(maxsize=256)
def page_of(rule: str, site: str = "") -> str | None:
    """The URI of a rule's page: on a site, or in the installed package; None where it is not a file of its own."""
    page = Path(__file__).parent.parent / "rules" / f"{rule.replace('-', '_')}.md"
    if not page.is_file():
        return None
    return f"{site}/rules/{rule}.html" if site else page.as_uri()
