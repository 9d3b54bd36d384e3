"""A server ends when its editor has crashed, and need not look for that all the time."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from gradpath.lsp.lifetime import watch

AN_HOUR = 3600.0


def ended_during(interval: float) -> bool:
    """Whether the end of a process is noticed that is looked at so often, in seconds."""
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    gone = threading.Event()
    watch(editor.pid, gone.set, interval)
    assert not gone.is_set()
    editor.communicate()
    return gone.wait(10.0)


def test_the_end_of_a_process_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradpath.lsp.lifetime._has_waited", lambda _: False)
    assert ended_during(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of the end of any process")
def test_linux_tells_of_the_end_of_a_process() -> None:
    assert ended_during(AN_HOUR)
