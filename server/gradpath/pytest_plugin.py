"""The plugin of pytest: the report of a test that fails with an autograd error gets a section that explains it.

pytest loads this file wherever gradpath is installed, so nothing of gradpath is loaded before such an error happens.
`-p no:gradpath` turns it off.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the section to the report of a test that failed with PyTorch loaded."""
    report = yield
    if report.failed and call.excinfo is not None and "torch" in sys.modules and "GRADPATH_RUN" not in os.environ:
        try:
            story = _story(call.excinfo.value, report.capstderr)
        except Exception as error:  # noqa: BLE001 - a test's report must not be lost for it.
            story = f"gradpath itself failed: {error!r}"
        if story:
            report.sections.append(("gradpath", story))
    return report


def _story(error: BaseException, written: str) -> str:
    """The explanation of an exception, with the anomaly mode's output in what the test wrote; "" for other errors."""
    from gradpath.features.explaining import of_autograd
    from gradpath.features.tracebacks import failures

    text = f"{written}\n{''.join(traceback.format_exception(type(error), error, error.__traceback__))}"
    if of_autograd(failures(text)) is None:
        return ""
    from pathlib import Path

    from gradpath.features.explanation import explained

    return explained(text, Path()).text
