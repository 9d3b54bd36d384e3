"""Messages cut out of a stream of bytes, which may hold anything."""

from __future__ import annotations

import re

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,10})[ \t]*\r?\n", re.IGNORECASE)
_HEADERS_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEADER = 4096
LARGEST_BODY = 512 * 1024 * 1024
"""Bytes; a header that announces more is taken for garbage."""


class Frames:
    """Collects bytes and gives the body of each message: headers, an empty line, as many bytes as announced.

    Bytes before the next `Content-Length` are skipped, so that the stream is found again after garbage.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body: tuple[int, int] | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes; the bodies that they complete."""
        self._buffer += data
        bodies = []
        while (body := self._take()) is not None:
            bodies.append(body)
        return bodies

    def _take(self) -> bytes | None:
        if self._body is None:
            self._body = self._find_body()
        if self._body is None or len(self._buffer) < self._body[1]:
            return None
        start, end = self._body
        body = bytes(self._buffer[start:end])
        del self._buffer[:end]
        self._body = None
        return body

    def _find_body(self) -> tuple[int, int] | None:
        while (header := _LENGTH.search(self._buffer)) is not None:
            length = int(header[1])
            # The empty line follows at once, or after further headers.
            end = _HEADERS_END.search(self._buffer, header.end(1))
            if end is not None and length <= LARGEST_BODY:
                return end.end(), end.end() + length
            if end is None and len(self._buffer) - header.end() < _LONGEST_HEADER and length <= LARGEST_BODY:
                return None
            del self._buffer[: header.end()]
        if len(self._buffer) > _LONGEST_HEADER:
            del self._buffer[: -_LONGEST_HEADER // 2]  # Garbage; the end may be the beginning of a header.
        return None
