"""Files as bytes: encodings, marks, and what is no Python text."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from gradpath.source.document import UnreadableSource, decode_source, read_document


def test_utf8_is_the_default() -> None:
    assert decode_source("é = '漢'\n".encode()) == "é = '漢'\n"


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode_source(codecs.BOM_UTF8 + b"x = 1\n") == "x = 1\n"


@pytest.mark.parametrize(
    ("cookie", "encoding"),
    [
        ("latin-1", "latin-1"),
        ("cp1252", "cp1252"),
        ("utf-8", "utf-8"),
        ("euc-jp", "euc-jp"),
        ("iso-8859-15", "iso-8859-15"),
    ],
)
def test_a_coding_cookie_is_obeyed_in_the_first_two_lines(cookie: str, encoding: str) -> None:
    for head in (f"# -*- coding: {cookie} -*-\n", f"#!/usr/bin/env python\n# vim: set fileencoding={cookie} :\n"):
        word = "日本" if encoding == "euc-jp" else "é"
        text = f"{head}x = '{word}'\n"
        assert decode_source(text.encode(encoding)) == text


def test_newlines_stay_as_they_are() -> None:
    assert decode_source(b"a\r\nb\rc\n\x0cd") == "a\r\nb\rc\n\x0cd"


def test_an_empty_file_is_a_text() -> None:
    assert decode_source(b"") == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\0", "NUL"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "NUL"),
        (b"x = 1\ny = '\xff'\n", "byte 0xff in line 2"),
        (b"# coding: no-such-codec\n", "unknown encoding"),
        (b"# coding: base64\nx\n", "base64"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "encoding problem"),
        ("x = 1\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_no_python_text_is_refused_in_one_line(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        decode_source(data)
    assert "\n" not in str(raised.value)


def test_a_file_is_read_under_the_name_that_the_user_gave(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(codecs.BOM_UTF8 + b"x = 1\r\n")
    document = read_document(file, "./train.py")
    assert (document.path, document.text) == ("./train.py", "x = 1\r\n")
    assert read_document(file).path == str(file)


def test_a_missing_file_and_a_folder_are_unreadable_in_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.py", tmp_path):
        with pytest.raises(UnreadableSource) as raised:
            read_document(path, "shown.py")
        assert raised.value.path == "shown.py"
        assert raised.value.reason
        assert "\n" not in str(raised.value)


def test_a_binary_file_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_bytes(b"PK\x03\x04\0\0")
    with pytest.raises(UnreadableSource, match="NUL"):
        read_document(file)
