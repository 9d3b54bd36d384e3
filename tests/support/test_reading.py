"""Files are read up to a size, and only where they are files."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from gradpath.support.reading import read_bytes, read_text, shown_size

posix = pytest.mark.skipif(os.name == "nt", reason="there are no such files")


def refusal(path: str | Path, limit: int = 100) -> str:
    try:
        read_bytes(path, limit)
    except OSError as error:
        return error.strerror or ""
    pytest.fail("it was read")


def test_a_file_is_read_up_to_its_limit_and_not_beyond(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_bytes(b"x" * 100)
    assert read_bytes(file, 100) == b"x" * 100
    assert refusal(file, 99) == "100 bytes is more than the 99 bytes that are read"


def test_a_giant_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    with file.open("wb") as giant:
        giant.truncate(3_000_000_000)
    assert refusal(file, 10_000_000) == "3 GB is more than the 10 MB that are read"


@posix
def test_a_pipe_that_nobody_writes_to_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    assert refusal(tmp_path / "x.py") == "not a file but a pipe"


@posix
def test_a_device_a_socket_and_a_folder_are_refused_through_links_too(tmp_path: Path) -> None:
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    assert refusal(tmp_path / "zero.py") == "not a file but a device"
    assert refusal(tmp_path) == "not a file but a folder"
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(tmp_path, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{here}/s" if os.path.exists("/proc/self/fd") else str(tmp_path / "s"))
        os.close(here)
        assert refusal(tmp_path / "s") == "not a file but a socket"


@posix
def test_a_file_that_does_not_tell_its_size_is_read_up_to_the_limit() -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no such files here")
    assert b"Name:" in read_bytes("/proc/self/status", 100_000)
    assert refusal("/proc/self/status", 50) == "more than the 50 bytes that are read"


@posix
def test_a_pipe_that_the_user_names_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * 200_000,))
    writer.start()
    assert read_bytes(pipe, 1_000_000, pipes=True) == b"x" * 200_000
    writer.join()


def test_a_link_to_a_file_is_a_file_and_a_circle_is_none(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "circle").symlink_to("circle")
    assert read_bytes(tmp_path / "link", 10) == b"x"
    assert "symbolic links" in refusal(tmp_path / "circle")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_a_name_that_no_file_can_have_is_refused_as_any_other(tmp_path: Path, name: str) -> None:
    assert refusal(f"{tmp_path}/{name}")


def test_text_has_no_mark_and_one_kind_of_line_ending(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfa\r\nb\rc")
    assert read_text(tmp_path / "x", 100) == "a\nb\nc"
    (tmp_path / "x").write_bytes(b"\xff")
    assert read_text(tmp_path / "x", 100, errors="replace") == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        read_text(tmp_path / "x", 100)


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 bytes"), (1500, "1.5 kB"), (10_000_000, "10 MB"), (3 * 10**9, "3 GB")]
)
def test_sizes_are_told_as_people_do(size: int, shown: str) -> None:
    assert shown_size(size) == shown
