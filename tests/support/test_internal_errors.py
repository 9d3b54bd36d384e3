"""What a failure of gradpath itself costs, who hears of it, and what is written down for an issue."""

from __future__ import annotations

import logging
import stat
import sys
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.diagnostic import GapKind
from gradpath.interpreter.budget import Cancelled
from gradpath.overlays import Overlays
from gradpath.source.document import Document
from gradpath.support import internal_errors
from gradpath.support.internal_errors import Place, failed

TWICE = "loss = torch.ones(1, requires_grad=True).exp()\n{0}loss.backward()\n{0}loss.backward()\n"
PROGRAM = f"""import torch

def cursed(model):
    print("a text")
    curse = model("hf_secret", [1, 2])
    curse.backward()

def fit(model):
    {TWICE.format("    ")}"""


@pytest.fixture(autouse=True)
def crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the crash reports, which is not there yet; nothing has failed so far."""
    folder = tmp_path / "cache" / "crashes"
    monkeypatch.setattr(internal_errors, "folder", lambda: folder)
    monkeypatch.setattr(internal_errors, "_reports", {})
    monkeypatch.setattr(internal_errors, "_logged", set())
    return folder


@pytest.fixture
def curse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in gradpath: it fails where the program assigns to `curse`."""
    bound = Overlays.bound

    def fails(overlays: Overlays, machine: object, name: str, *values: object) -> object:
        if name == "curse":
            raise ZeroDivisionError("there is\nnothing to divide by")
        return bound(overlays, machine, name, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(Overlays, "bound", fails)


@pytest.mark.usefixtures("curse")
def test_a_failure_costs_one_entry_point_and_says_where_it_happened() -> None:
    analysis = check(Document("train.py", PROGRAM))
    assert [each.rule for each in analysis.diagnostics] == ["double-backward"]
    [gap] = analysis.incomplete
    assert (gap.kind, gap.entry, gap.range.start.line) == (GapKind.FAILURE, "cursed", 5)
    assert gap.detail == "ZeroDivisionError: there is nothing to divide by"


@pytest.mark.usefixtures("curse")
def test_the_report_has_what_an_issue_needs_and_nothing_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "swordfish")
    place = tmp_path / "private" / "train.py"
    [gap] = check(Document(str(place), PROGRAM)).incomplete
    report = Path(gap.report).read_text()
    for wanted in (
        f"Python {sys.version_info.major}.{sys.version_info.minor}.",
        "what failed: the analysis of cursed failed",
        "(line 5): curse = model('...', [1, 2])",
        "ZeroDivisionError: there is nothing to divide by",
        "gradpath/interpreter/run.py:",
    ):
        assert wanted in report
    for private in ("hf_secret", "a text", "swordfish", "private", str(Path.home() / ".cache")):
        assert private not in report


@pytest.mark.usefixtures("curse")
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such modes")
def test_the_report_is_for_its_owner_alone() -> None:
    [gap] = check(Document("train.py", PROGRAM)).incomplete
    assert stat.S_IMODE(Path(gap.report).stat().st_mode) == 0o600


@pytest.mark.usefixtures("curse")
def test_it_is_logged_once_for_all_files_with_the_place_and_the_report(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        for name in ("one.py", "two.py", "three.py"):
            [gap] = check(Document(name, PROGRAM)).incomplete
    [record] = caplog.records
    assert "the analysis of cursed failed, at one.py:5: ZeroDivisionError" in record.message
    assert gap.report in record.message
    assert "\n  gradpath/interpreter/run.py:" in record.message


@pytest.mark.usefixtures("curse")
def test_without_a_place_for_reports_the_failure_is_told_all_the_same(
    crashes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes.parent.mkdir()
    crashes.write_text("a file in its place")
    [gap] = check(Document("train.py", PROGRAM)).incomplete
    assert (gap.kind, gap.report) == (GapKind.FAILURE, "")


def test_only_the_newest_reports_are_kept(crashes: Path) -> None:
    written = []
    for number in range(internal_errors.REPORTS + 5):
        try:
            raise type(f"Failure{number}", (Exception,), {})()
        except Exception:  # noqa: BLE001 - each is of a type of its own.
            written.append(Path(failed("a part failed", Place("train.py")).report))
    assert len(set(written)) == len(written)
    assert len(list(crashes.iterdir())) == internal_errors.REPORTS
    assert written[-1].is_file()


def test_the_report_of_a_deep_recursion_is_short(crashes: Path) -> None:
    def deep(number: int) -> int:
        return deep(number + 1)

    try:
        deep(0)
    except RecursionError:
        report = failed("a part failed", Place("train.py")).report
    assert 200 < Path(report).stat().st_size < 20_000


def test_a_report_is_not_written_through_a_link(crashes: Path, tmp_path: Path) -> None:
    def fail() -> Path:
        try:
            raise ArithmeticError
        except ArithmeticError:
            return Path(failed("a part failed", Place("train.py")).report)

    report = fail()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    report.unlink()
    report.symlink_to(precious)
    internal_errors._reports.clear()
    assert fail() == report
    assert precious.read_text() == "precious"
    assert report.is_file()
    assert not report.is_symlink()


@pytest.mark.parametrize(("error", "kind"), [(RecursionError, GapKind.FAILURE), (MemoryError, GapKind.MEMORY)])
@pytest.mark.parametrize("part", ["entry_points.only_defines", "compare", "_suppressed", "TREES"])
def test_a_check_never_raises(
    part: str, error: type[Exception], kind: GapKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails:
        def __call__(self, *_: object) -> object:
            raise error

        __getattr__ = __call__

    monkeypatch.setattr(f"gradpath.analysis.check.{part}", Fails())
    analysis = check(Document("train.py", PROGRAM))
    [gap] = analysis.incomplete
    assert (gap.kind, gap.entry, gap.path) == (kind, None, "train.py")


def test_a_check_that_is_cancelled_before_it_has_begun_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def cancel(*_: object) -> bool:
        raise Cancelled

    monkeypatch.setattr("gradpath.analysis.check.entry_points.only_defines", cancel)
    assert check(Document("train.py", PROGRAM)).incomplete == ()


def test_a_recursion_is_one_place_however_deep_it_came(crashes: Path) -> None:
    def even() -> None:
        odd()

    def odd() -> None:
        even()

    for start in (even, odd):
        try:
            start()
        except RecursionError:
            failed("a part failed", Place("train.py"))
    assert len(list(crashes.iterdir())) == 1


@pytest.mark.usefixtures("curse")
def test_a_failure_in_an_imported_file_is_named_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    library = tmp_path / "library.py"
    library.write_text("def bewitch(model):\n    model.eval()\n    curse = model.train()\n")
    main = tmp_path / "main.py"
    main.write_text("import torch\nfrom library import bewitch\n\nbewitch(torch.nn.Linear(1, 1))\n")
    [gap] = check(Document(str(main), main.read_text())).incomplete
    assert (gap.path, gap.entry, gap.range.start.line) == (str(main), "", 1)
    assert f"at {library}:3: " in caplog.records[0].message


def test_a_factor_that_is_a_copied_field_of_a_parameter_fails_nothing() -> None:
    text = """import copy
import torch


def train(*, pipeline, latents, optimizer):
    scheduler = copy.deepcopy(pipeline.scheduler)
    noise = torch.randn_like(latents)
    sigmas = get_sigmas(scheduler, n_dim=latents.ndim, dtype=latents.dtype).to("cpu")
    noisy = (1.0 - sigmas) * latents + sigmas * noise
    optimizer.step()
"""
    assert check(Document("train.py", text)).incomplete == ()
