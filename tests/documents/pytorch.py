"""Runs a program under real PyTorch, in this process, and leaves the process as it found it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import linecache
import os
import platform
import random
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from types import FrameType

from tests.documents.grammar import Source

_RECORD_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Raised:
    """What ended a program: the names of the exception's class and its bases, and the innermost place in its files.

    `line` counts from 1 in the text of the file `name`; 0 where no line of the program is on the stack.
    """

    kinds: tuple[str, ...]
    message: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run went; `facts[i]` says why the i-th fact is not true, and is empty where it is."""

    raised: Raised | None
    facts: tuple[str, ...]


def outcome_of(sources: Sequence[Source], facts: Sequence[str], records: Path | None) -> Outcome:
    """Run the files (the last one is the program) and check the facts, or read how that went from `records`."""
    if records is None:
        return run(sources, facts)
    record = records / f"{_fingerprint(sources, facts)}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return _from_json(record.read_text(encoding="utf-8"))
    outcome = run(sources, facts)
    partial = record.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(asdict(outcome)), encoding="utf-8")
    partial.replace(record)
    return outcome


def run(sources: Sequence[Source], facts: Sequence[str]) -> Outcome:
    """Run the last file as `__main__`, with the others importable, in an empty working directory."""
    with tempfile.TemporaryDirectory() as folder, _untouched_process(folder), _untouched_torch():
        paths: dict[str, str] = {}
        for source in sources:
            path = Path(folder, source.name)
            paths[str(path)] = source.name
            if source is not sources[-1]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(source.text, encoding="utf-8")
        main = str(Path(folder, sources[-1].name))
        text = sources[-1].text
        linecache.cache[main] = (len(text), None, text.splitlines(keepends=True), main)
        sys.argv = [main]
        module = types.ModuleType("__main__")
        module.__dict__["__file__"] = main
        sys.modules["__main__"] = module
        raised = _execute(text, main, module.__dict__, paths)
        checked = tuple(_check(fact, module.__dict__) for fact in facts)
        # Generators that wait inside `no_grad` restore the grad mode when they die: they must do so before it is reset.
        module.__dict__.clear()
        return Outcome(raised, checked)


def _execute(text: str, path: str, namespace: dict[str, object], paths: dict[str, str]) -> Raised | None:
    try:
        exec(compile(text, path, "exec", dont_inherit=True), namespace)
    except OutOfTime:
        raise
    except SystemExit as end:
        return None if end.code in (None, 0) else _describe(end, paths)
    except Exception as problem:  # noqa: BLE001  # Whatever the program raises is the observation.
        return _describe(problem, paths)
    return None


class OutOfTime(BaseException):
    """A test ran too long; no `except Exception` of a program may swallow it."""


def _describe(problem: BaseException, paths: dict[str, str]) -> Raised:
    name, line = "", 0
    trace = problem.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if filename in paths:
            name, line = paths[filename], trace.tb_lineno
        trace = trace.tb_next
    kinds = tuple(base.__name__ for base in type(problem).__mro__ if base is not object)
    return Raised(kinds, str(problem), name, line)


def _check(fact: str, namespace: dict[str, object]) -> str:
    try:
        return "" if eval(fact, namespace) else "is not true"
    except Exception as problem:  # noqa: BLE001  # What cannot be computed does not hold.
        return f"raises {type(problem).__name__}: {problem}"


@contextlib.contextmanager
def _untouched_process(folder: str) -> Iterator[None]:
    argv, path, directory = sys.argv, list(sys.path), os.getcwd()
    main, known = sys.modules["__main__"], set(sys.modules)
    random_state, environment = random.getstate(), dict(os.environ)
    sys.path.insert(0, folder)
    os.chdir(folder)
    random.seed(0)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        os.chdir(directory)
        sys.argv, sys.path[:] = argv, path
        sys.modules["__main__"] = main
        for name in set(sys.modules) - known:
            if _is_made_by_hand(name, sys.modules[name]) or _stands_in(folder, sys.modules[name]):
                del sys.modules[name]
        importlib.invalidate_caches()
        for filename in [name for name in linecache.cache if name.startswith(folder + os.sep)]:
            del linecache.cache[filename]
        random.setstate(random_state)
        os.environ.clear()
        os.environ.update(environment)


def _is_made_by_hand(name: str, module: object) -> bool:
    """Whether the program put something into `sys.modules` that was not imported; libraries do so within themselves."""
    if not isinstance(module, types.ModuleType):
        return True
    return type(module) is types.ModuleType and module.__spec__ is None and "." not in name


def _stands_in(folder: str, module: types.ModuleType) -> bool:
    """Whether a module or package, with or without an `__init__.py`, was imported from the folder."""
    # Not by getattr: some modules of PyTorch answer to every name.
    places = [vars(module).get("__file__") or "", *vars(module).get("__path__", ())]
    return any(place.startswith(folder + os.sep) for place in places)


@contextlib.contextmanager
def _untouched_torch() -> Iterator[None]:
    import numpy
    import torch

    torch.set_num_threads(1)
    dtype, autocast = torch.get_default_dtype(), torch.get_autocast_dtype("cpu")
    torch.default_generator.manual_seed(0)  # `torch.manual_seed` also notes the stack for each device that is absent.
    numpy.random.seed(0)
    try:
        yield
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(dtype)
        torch.set_default_device(None)
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", autocast)
        torch.clear_autocast_cache()
        torch.autograd.set_detect_anomaly(False)
        torch.use_deterministic_algorithms(False)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def _fingerprint(sources: Sequence[Source], facts: Sequence[str]) -> str:
    versions = [metadata.version("torch"), metadata.version("numpy"), platform.python_version(), _RECORD_FORMAT]
    content = [versions, [[source.name, source.text] for source in sources], list(facts)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _from_json(text: str) -> Outcome:
    record = json.loads(text)
    raised = record["raised"]
    if raised is not None:
        raised = Raised(tuple(raised["kinds"]), raised["message"], raised["name"], raised["line"])
    return Outcome(raised, tuple(record["facts"]))


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Ends what runs inside after `seconds`, where the system has an alarm clock."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime(f"not finished after {seconds} s")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
