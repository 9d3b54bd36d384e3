from __future__ import annotations

from pathlib import Path

from tests.documents.pages import Block, Broken, documents, read_document


def _read(folder: Path, page: str) -> list[Block | Broken]:
    path = folder / "tests" / "cases" / "page.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return read_document(path, folder)


def test_every_block_is_a_test_named_after_its_headings(tmp_path: Path) -> None:
    page = "# Page\n\n## Two losses\n\n```py\na = 1\n```\n\n```py\nb = 1\n```\n\n### In a loop\n\n```py\nc = 1\n```\n"
    found = _read(tmp_path, page)
    assert [test.name for test in found] == [
        "page.md:two-losses",
        "page.md:two-losses:2",
        "page.md:two-losses:in-a-loop",
    ]
    assert [test.place.line for test in found] == [5, 9, 15]


def test_a_fixed_block_follows_its_program(tmp_path: Path) -> None:
    found = _read(
        tmp_path, '## A\n```py\na = 1\n```\nBetter:\n```py fixed "or so"\na = 2\n```\n## B\n```py fixed\n```\n'
    )
    program, fixed, stray = found
    assert isinstance(program, Block)
    assert isinstance(fixed, Block)
    assert (fixed.fix_of, fixed.fix_title) == (program, "or so")
    assert isinstance(stray, Broken)


def test_a_known_gap_is_the_line_before_its_block(tmp_path: Path) -> None:
    found = _read(tmp_path, "Known gap: closures.\n\n```py\na = 1\n```\n\n```py\nb = 1\n```\n")
    assert [isinstance(test, Block) and test.known_gap for test in found] == ["closures.", None]


def test_files_belong_to_the_next_program(tmp_path: Path) -> None:
    found = _read(tmp_path, "```py file=a/b.py\nx = 1\n```\n\n```py\nimport a.b\n```\n\n```py\ny = 1\n```\n")
    assert [[source.name for source in test.sources] for test in found if isinstance(test, Block)] == [
        ["a/b.py", "example.py"],
        ["example.py"],
    ]


def test_what_is_no_test_is_left_alone_or_refused(tmp_path: Path) -> None:
    page = (
        "```text\nx\n```\n\n````md\n```py\nx ==\n```\n````\n\n```python\nx\n```\n\n```py fxed\nx\n```\n\n```py\nx = 1\n"
    )
    found = _read(tmp_path, page)
    assert [(test.place.line, isinstance(test, Broken)) for test in found] == [(11, True), (15, True), (19, True)]


def test_a_folder_with_a_train_script_is_one_program(tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    (samples / "gan" / "models").mkdir(parents=True)
    (samples / "gan" / "models" / "net.py").write_text("import torch\nx = 1  # error: [a]\n", encoding="utf-8")
    (samples / "gan" / "train.py").write_text("# known gap: files\nimport models.net  # raises: B\n", encoding="utf-8")
    (samples / "single.py").write_text("x = 1\n", encoding="utf-8")
    found = [test for path in documents(tmp_path) for test in read_document(path, tmp_path)]
    assert [test.name for test in found] == ["samples/gan", "samples/single.py"]
    gan, single = found
    assert isinstance(gan, Block)
    assert isinstance(single, Block)
    assert [str(claim.place) for claim in gan.claims] == ["samples/gan/models/net.py:2", "samples/gan/train.py:2"]
    assert [source.name for source in gan.sources] == ["models/net.py", "train.py"]
    assert gan.known_gap == "files"
    assert single.main.text == "x = 1\n"
