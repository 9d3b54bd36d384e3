"""`gradpath check`: finds mistakes in files and folders, and reports them in a chosen format.

What few runs need, such as `--fix`, is imported where it is used: the check of one file should answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gradpath.cli.elsewhere import gathered
from gradpath.cli.files import find_files, part_of
from gradpath.cli.memory import calm_collector, sweep
from gradpath.cli.output import FORMATS, Output
from gradpath.cli.run import Checked, check_document, check_file, source_of
from gradpath.cli.settings import Settings, rule_names
from gradpath.cli.status import UsageError
from gradpath.cli.terminal import Progress, standard_input
from gradpath.config import Config
from gradpath.diagnostic import Safety
from gradpath.render.width import safe_text
from gradpath.support.fast_dataclasses import replace

if TYPE_CHECKING:
    import argparse

    from gradpath.cli.cache import Cache
    from gradpath.cli.fix import Fixed

_STDIN = "-"
_WORTH_PROCESSES = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath check`."""
    parser.epilog = (
        "Exit status: 0 nothing found at error or warning level; 1 something found; "
        "2 bad usage, a file that cannot be read, or a broken configuration. "
        "What was not fully checked is reported on standard error; --strict makes that 1."
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files, folders, or - for standard input (default: this folder)")
    add("--watch", "-w", action="store_true", help="check again whenever a file changes, until it is interrupted")
    add("--exclude", action="append", default=[], metavar="PATTERN", help="leave out what a pattern of .gitignore fits")
    add("--output-file", "-o", metavar="FILE", help="write the diagnostics to this file")
    add("--output-format", choices=FORMATS, default="full", help="output format (default: full)")
    add("--select", action="append", default=[], metavar="RULES", help="only these rules or families (a,b,c)")
    add("--ignore", action="append", default=[], metavar="RULES", help="without these rules or families (a,b,c)")
    add("--config", type=Path, metavar="FILE", help="this pyproject.toml or gradpath.toml instead of the nearest")
    add("--fix", action="store_true", help="apply safe fixes, and report what is left")
    add("--unsafe-fixes", action="store_true", help="apply the fixes that may change the meaning as well")
    add("--diff", action="store_true", help="show what the fixes would change, and write nothing")
    add("--add-ignores", action="store_true", help="write a comment at each place that keeps gradpath silent there")
    add("--baseline", type=Path, metavar="FILE", help="leave out the mistakes that this file knows")
    add("--write-baseline", action="store_true", help="write all that is found now to the file of --baseline")
    add("--stdin-filename", metavar="NAME", help="the name of what comes from standard input")
    add("--jobs", type=_jobs, default=0, metavar="N", help="processes to use (default: one a processor)")
    add("--shard", type=_shard, metavar="I/N", help="check the I-th of N parts of the files, as one of N jobs of a CI")
    add("--no-cache", action="store_true", help="check all files again, and keep nothing in .gradpath_cache")
    add("--statistics", action="store_true", help="report how much was understood, and why the rest was not")
    add("--exit-zero", action="store_true", help="exit 0 even if something is found")
    add("--strict", action="store_true", help="exit 1 also if a part of a file was not checked")
    add("--quiet", "-q", action="store_true", help="diagnostics only: no summary, no progress")


def run(arguments: argparse.Namespace) -> int:
    """Check what the arguments name."""
    if arguments.baseline is None and _STDIN not in arguments.paths:
        configured = _settings(arguments).of_file(Path("x.py")).baseline
        arguments.baseline = configured and Path(configured)
    _refuse_contradictions(arguments)
    if arguments.watch:
        from gradpath.cli.watch import watch

        watch(lambda: _run_files(arguments, _settings(arguments)), lambda: _watched(arguments))
    return (_run_stdin if _STDIN in arguments.paths else _run_files)(arguments, _settings(arguments))


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for options that do not go together."""
    from_stdin = _STDIN in arguments.paths
    writes = [
        option
        for option in ("fix", "unsafe_fixes", "diff", "add_ignores", "write_baseline")
        if getattr(arguments, option)
    ]
    if from_stdin and len(arguments.paths) > 1:
        raise UsageError("- cannot be combined with files: standard input is checked alone")
    if arguments.write_baseline and arguments.baseline is None:
        raise UsageError("--write-baseline needs --baseline FILE, or a `baseline` in the configuration")
    if from_stdin and (arguments.baseline is not None or arguments.add_ignores):
        raise UsageError("--baseline and --add-ignores are for files, not for standard input")
    if arguments.watch and (from_stdin or writes):
        option = "-" if from_stdin else "--" + writes[0].replace("_", "-")
        raise UsageError(f"--watch cannot be combined with {option}: it checks files, and changes none")
    if arguments.shard and (from_stdin or writes):
        option = "-" if from_stdin else "--" + writes[0].replace("_", "-")
        raise UsageError(f"--shard cannot be combined with {option}: it checks a part of the files, and changes none")
    if _allowed(arguments) and (arguments.write_baseline or arguments.add_ignores):
        raise UsageError("--fix and --diff cannot be combined with --write-baseline and --add-ignores")
    if arguments.stdin_filename is not None and not from_stdin:
        raise UsageError("--stdin-filename needs - as the path")


def _settings(arguments: argparse.Namespace) -> Settings:
    settings = Settings(
        rule_names(arguments.select, "--select"),
        rule_names(arguments.ignore, "--ignore"),
        arguments.config,
        tuple(arguments.exclude),
    )
    if arguments.config is not None:
        settings.of_file(Path("x.py"))
    return settings


def _watched(arguments: argparse.Namespace) -> Iterator[str]:
    """The files that are checked, and the configurations that hold for them."""
    settings = _settings(arguments)
    for path in find_files(arguments.paths or ["."], settings.excludes).files:
        settings.of_file(Path(path))
        yield path
    yield from settings.files()


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is not a part such as 2/8")
    return int(number), int(of)


def _allowed(arguments: argparse.Namespace) -> tuple[Safety, ...]:
    if arguments.unsafe_fixes:
        return Safety.SAFE, Safety.UNSAFE
    return (Safety.SAFE,) if arguments.fix or arguments.diff else ()


def _wants_trials(arguments: argparse.Namespace) -> bool:
    """True if more will be shown than that something was found: the trial of a fix also tells what is beyond a fault.

    Each costs a check of its file.
    """
    kept = arguments.baseline or arguments.write_baseline or arguments.add_ignores
    return bool(_allowed(arguments) or kept) or not arguments.quiet or arguments.output_format in ("json", "sarif")


def _output(arguments: argparse.Namespace) -> Output:
    return Output(
        arguments.output_format,
        arguments.statistics,
        arguments.quiet,
        arguments.diff,
        arguments.exit_zero,
        arguments.strict,
        arguments.output_file,
    )


def _run_files(arguments: argparse.Namespace, settings: Settings) -> int:
    paths = arguments.paths or ["."]
    found = find_files(paths, settings.excludes)
    files, others = part_of(found.files, *(arguments.shard or (1, 1)))
    configs = {path: settings.of_file(Path(path)) for path in files}
    progress = Progress(len(files), quiet=arguments.quiet)
    try:
        how = {"measure": arguments.statistics, "trials": _wants_trials(arguments)}
        outcomes = _check_files(list(configs.items()), arguments.jobs, progress, _cache(arguments, paths), how)
    finally:
        progress.close()
    for folder in found.empty:
        print(f"gradpath: no Python files under {safe_text(folder)}", file=sys.stderr)
    walked = [path for path in paths if os.path.isdir(path)]
    problems = [*found.problems, *settings.problems]
    fixes: list[Fixed] | None = None
    allowed = _allowed(arguments)
    if allowed:
        from gradpath.cli.baseline import choose_new
        from gradpath.cli.fix import all_of, fix_files

        # What the baseline knows is left as it is, as if a comment kept gradpath silent there.
        choice = all_of if arguments.baseline is None else choose_new(arguments.baseline)
        outcomes, fixes, failed = fix_files(outcomes, walked, configs, allowed, write=not arguments.diff, choice=choice)
        problems += failed
    outcomes = gathered(outcomes, walked, others)
    if arguments.baseline is not None:
        from gradpath.cli.baseline import leave_out_known, make_known

        if arguments.write_baseline:
            outcomes = make_known(arguments.baseline, outcomes, quiet=arguments.quiet)
            return Output("concise", quiet=True, strict=arguments.strict).tell(outcomes, problems, None, sys.stdout)
        outcomes = leave_out_known(arguments.baseline, outcomes, quiet=arguments.quiet)
    if arguments.add_ignores:
        from gradpath.cli.ignores import ignore_in_files

        outcomes, failed = ignore_in_files(outcomes, walked, configs, quiet=arguments.quiet)
        problems += failed
    return _output(arguments).tell(outcomes, problems, fixes, sys.stdout)


def _cache(arguments: argparse.Namespace, paths: Sequence[str]) -> Cache | None:
    """The outcomes of earlier runs, which count where folders are checked, and nothing else is asked for."""
    if arguments.no_cache or arguments.statistics or arguments.add_ignores or _allowed(arguments):
        return None
    if not any(os.path.isdir(path) for path in paths):
        return None
    from gradpath.cli.cache import Cache

    return Cache(Path.cwd(), trials=_wants_trials(arguments))


def _check_files(
    files: Sequence[tuple[str, Config]], jobs: int, progress: Progress, cache: Cache | None, how: Mapping[str, bool]
) -> list[Checked]:
    """The outcomes for files in their order, those that an earlier run has left among them."""
    outcomes: dict[str, Checked] = {}
    for path, config in files:
        found = cache.find(path, config) if cache is not None else None
        if found is not None:
            outcomes[path] = found
            progress.step()
    rest = [(path, config) for path, config in files if path not in outcomes]
    try:
        for (path, config), checked in zip(rest, _checked(rest, jobs, progress, how), strict=True):
            if cache is not None:
                cache.keep(checked, config)
            outcomes[path] = replace(checked, folders={})  # They are many, and only this output uses them.
    finally:
        if cache is not None:
            cache.save()
    return [outcomes[path] for path, _ in files]


def _checked(
    files: Sequence[tuple[str, Config]], jobs: int, progress: Progress, how: Mapping[str, bool]
) -> Iterator[Checked]:
    """Check files with up to `jobs` processes (0: one a processor, where it is worth it)."""
    workers = min(jobs or _processors(), len(files))
    if workers > 1 and (jobs or len(files) >= _WORTH_PROCESSES):
        from gradpath.cli.workers import check_in_processes

        yield from check_in_processes(files, workers, progress.step, **how)
        return
    calm_collector()
    for path, config in files:
        sweep()
        yield check_file(path, config, **how)
        progress.step()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_stdin(arguments: argparse.Namespace, settings: Settings) -> int:
    name = arguments.stdin_filename or _STDIN
    config = settings.of_file(Path(arguments.stdin_filename or "stdin.py"))
    try:
        data = standard_input("the program")
        document = source_of(name, data)
    except ValueError as error:
        return _output(arguments).tell([Checked(name, problem=str(error))], settings.problems, None, sys.stdout)
    checked = check_document(document, config, measure=arguments.statistics, trials=_wants_trials(arguments))
    allowed = _allowed(arguments)
    if not allowed:
        return _output(arguments).tell([checked], settings.problems, None, sys.stdout)
    from gradpath.cli.fix import fix_text

    fixed = fix_text(document, data, config, allowed, checked)
    if arguments.diff:
        return _output(arguments).tell([checked], settings.problems, [fixed], sys.stdout)
    # The fixed text goes to standard output, as of any filter, so the diagnostics go to standard error.
    sys.stdout.buffer.write(fixed.after.text.encode("utf-8"))
    return _output(arguments).tell([fixed.checked], settings.problems, [fixed], sys.stderr)
