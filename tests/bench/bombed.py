"""The command: open programs that were made to stop the server, and ask it for another file meanwhile.

    PYTHONPATH=tests:server python -m bench.bombed --seed 1 --count 2000 --jobs 2

Each program is opened beside a file that is plain, in a server of its own unless `--each` says otherwise. Two seconds
later the program is edited away and the plain file changes: the time to the answers for both is taken. At the end the
last program comes back and, while it is looked at, the client goes: by `exit`, by closing its pipe, or by being killed.
The processes of the server must all end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from bombs.grammar import Bomb, bombs

from bench.client import Server, family, memory_of

LOOKED_AT = 2.0
"""Seconds for which the server has the program before it is edited away."""

ANSWERED = 1.0
"""Seconds within which the plain file must be answered for."""

MOST_MEMORY = 500
"""Megabytes that all processes of a server may have together at the peak."""

ENDED = 3.0
"""Seconds within which all processes of a server must have ended when its client has gone."""

PATIENCE = 15.0
"""Seconds after which no answer is waited for any more."""

PLAIN = """\
import torch

weight = torch.randn(3, requires_grad=True)
loss = weight.exp().sum()
loss.backward()
loss.backward()
"""

LEAVES = ("exit", "closed", "killed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a server: seconds to the answers (None: none came) and to its end, and megabytes at the peak."""

    name: str
    other: float | None
    itself: float | None
    ended: float | None
    memory: float

    @property
    def wrong(self) -> list[str]:
        """What of it is not as it must be."""
        found = []
        if self.other is None or self.other > ANSWERED:
            found.append(f"the plain file: {_seconds(self.other)}")
        if self.itself is None:
            found.append("no answer once it was edited away")
        if self.ended is None:
            found.append("a process stays")
        if self.memory > MOST_MEMORY:
            found.append(f"{self.memory:.0f} MB")
        return found


def main() -> int:
    """Run the command; the exit status is 1 where a server did not stand its program."""
    parser = argparse.ArgumentParser(prog="bench.bombed", description="Open bombs in servers.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many")
    parser.add_argument("--each", type=int, default=1, help="programs for one server, one after the other (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="servers at the same time (default 1)")
    options = parser.parse_args()
    chosen = list(islice(bombs(options.seed), options.skip, options.skip + options.count))
    outcomes: list[Outcome] = []
    groups = [chosen[start : start + options.each] for start in range(0, len(chosen), options.each)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(_served, range(len(groups)), groups):
            for outcome in found:
                if outcome.wrong:
                    print(f"{options.skip + len(outcomes)} {outcome.name}: {', '.join(outcome.wrong)}", flush=True)
                outcomes.append(outcome)
                if len(outcomes) % 100 == 0:
                    print(f"  {len(outcomes)} of {len(chosen)}", file=sys.stderr, flush=True)
    _print_totals(outcomes)
    return 1 if any(each.wrong for each in outcomes) else 0


def _served(number: int, group: Sequence[Bomb]) -> list[Outcome]:
    """Have one server look at programs, one after the other; when it is left, it looks at the last one again."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        other = (root / "plain.py").as_uri()
        server = Server((sys.executable, "-m", "gradpath", "server"), root)
        found: list[Outcome] = []
        try:
            server.initialize()
            server.diagnostics(other, 1, _open(server, other, PLAIN), PATIENCE)
            for version, bomb in enumerate(group, 2):
                uri = (root / f"bomb_{version}.py").as_uri()
                with _peak(server) as peak:
                    since = _open(server, uri, bomb.text)
                    time.sleep(max(0.0, LOOKED_AT - (time.perf_counter() - since)))
                    server.drain()
                    began = _change(server, uri, PLAIN, 2)
                    _change(server, other, PLAIN + "\n" * version, version)
                    answers = _both(server, {other: version, uri: 2}, began)
                found.append(Outcome(bomb.name, answers.get(other), answers.get(uri), None, peak.most))
            _change(server, uri, group[-1].text, 3)
            time.sleep(0.3)
            ended = _left(server, LEAVES[number % len(LEAVES)])
            return [replace(each, ended=ended) for each in found]
        finally:
            for process in family(server.process.pid):
                subprocess.run(["kill", "-9", str(process)], check=False, stderr=subprocess.DEVNULL)
            server.end()


def _open(server: Server, uri: str, text: str) -> float:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    return server.notify("textDocument/didOpen", {"textDocument": item})


def _change(server: Server, uri: str, text: str, version: int) -> float:
    params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
    return server.notify("textDocument/didChange", params)


def _both(server: Server, versions: dict[str, int], since: float) -> dict[str, float]:
    """Seconds until each document's version was answered for, by URI."""
    found: dict[str, float] = {}
    while len(found) < len(versions):
        answer = server.answer({uri: versions[uri] for uri in versions if uri not in found}, PATIENCE)
        if answer is None:
            break
        when, uri = answer
        found[uri] = when - since
    return found


class _peak:
    """Watches the memory of all processes of a server."""

    def __init__(self, server: Server) -> None:
        self._process = server.process.pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.most = 0.0

    def __enter__(self) -> _peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self.most = max(self.most, sum(map(memory_of, family(self._process))))


def _left(server: Server, way: str) -> float | None:
    """Leave the server in one of the ways; the seconds until all its processes have ended, None where one stays."""
    processes = family(server.process.pid)
    began = time.perf_counter()
    stdin = server.process.stdin
    assert stdin is not None
    if way == "exit":
        server.send({"id": 9_999, "method": "shutdown"})
        server.notify("exit", None)
    elif way == "killed":
        server.process.kill()
    stdin.close()
    while time.perf_counter() - began < ENDED:
        server.process.poll()
        if not any(map(_runs, processes)):
            return time.perf_counter() - began
        time.sleep(0.02)
    return None


def _runs(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def _seconds(value: float | None) -> str:
    return "no answer" if value is None else f"{value:.2f} s"


def _places(count: int) -> dict[str, int]:
    return {"median": count // 2, "99th": count * 99 // 100, "most": count - 1}


def _print_totals(outcomes: list[Outcome]) -> None:
    print(f"{len(outcomes)} programs, {sum(bool(each.wrong) for each in outcomes)} named above")
    for what, value in (("the plain file", "other"), ("itself, edited away", "itself"), ("end", "ended")):
        known = sorted(found for each in outcomes if (found := getattr(each, value)) is not None)
        if known:
            shares = ", ".join(f"{name} {known[at]:.2f} s" for name, at in _places(len(known)).items())
            print(f"{what}: {shares}")
    print(f"memory: most {max(each.memory for each in outcomes):.0f} MB")


if __name__ == "__main__":
    sys.exit(main())
