"""Messages are found in a stream of bytes, even after garbage."""

from __future__ import annotations

import random

import pytest

from gradpath.lsp.frames import LARGEST_BODY, Frames


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize("seed", range(10))
def test_messages_arrive_whole_however_the_stream_is_cut(seed: int) -> None:
    dice = random.Random(seed)
    bodies = [bytes(dice.randrange(256) for _ in range(dice.randrange(50))) for _ in range(10)]
    stream = b"".join(map(framed, bodies))
    frames, received = Frames(), []
    while stream:
        size = dice.randrange(1, 40)
        received += frames.feed(stream[:size])
        stream = stream[size:]
    assert received == bodies


@pytest.mark.parametrize(
    "headers",
    [
        b"content-length:2\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
    ],
)
def test_headers_may_be_written_in_every_way(headers: bytes) -> None:
    assert Frames().feed(headers + b"{}") == [b"{}"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\xff" * 5000,
        b"Content-Length: minus one\r\n\r\n{}",
        b"Content-Length: %d\r\n\r\n" % (LARGEST_BODY + 1),
        b"Content-Length: 99999999999\r\n\r\n",
    ],
)
def test_the_stream_is_found_again_after_garbage(garbage: bytes) -> None:
    assert Frames().feed(garbage + framed(b"{}")) == [b"{}"]


def test_garbage_is_not_kept() -> None:
    frames = Frames()
    for _ in range(100):
        assert frames.feed(b"x" * 10_000) == []
    assert len(frames._buffer) < 20_000
