"""`gradpath check`: finds mistakes in files and folders, and says so in the format that is wanted."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from gradpath.cli import baseline, fix
from gradpath.cli.cache import Cache
from gradpath.cli.elsewhere import gathered
from gradpath.cli.files import find_files
from gradpath.cli.memory import calm_collector, sweep
from gradpath.cli.output import FORMATS, Output
from gradpath.cli.run import Checked, check_document, check_file, source_of
from gradpath.cli.settings import Settings, rule_names
from gradpath.cli.status import UsageError
from gradpath.cli.terminal import Progress
from gradpath.config import Config
from gradpath.diagnostic import Safety
from gradpath.records import replace
from gradpath.render.report import Problem
from gradpath.render.width import safe_text
from gradpath.source.cells import CellsDocument
from gradpath.source.notebook import decode_notebook

_STDIN = "-"
_WORTH_PROCESSES = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gradpath check`."""
    parser.epilog = (
        "Exit status: 0 nothing found at error or warning level; 1 something found; "
        "2 bad usage, a file that cannot be read, or a broken configuration."
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files, folders, or - for standard input (default: this folder)")
    add("--output-format", choices=FORMATS, default="full", help="how to say it (default: full)")
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
    add("--no-cache", action="store_true", help="check all files anew, and keep nothing in .gradpath_cache")
    add("--statistics", action="store_true", help="tell how much was understood, and what the rest was lost to")
    add("--exit-zero", action="store_true", help="exit 0 even if something is found")
    add("--quiet", "-q", action="store_true", help="diagnostics only: no summary, no progress")


def run(arguments: argparse.Namespace) -> int:
    """Check what the arguments name."""
    settings = Settings(
        rule_names(arguments.select, "--select"), rule_names(arguments.ignore, "--ignore"), arguments.config
    )
    if _STDIN in arguments.paths and len(arguments.paths) > 1:
        raise UsageError("- stands alone: standard input is not checked together with files")
    if arguments.write_baseline and arguments.baseline is None:
        raise UsageError("--write-baseline needs --baseline FILE")
    if _STDIN in arguments.paths:
        if arguments.baseline is not None or arguments.add_ignores:
            raise UsageError("--baseline and --add-ignores are for files, not for standard input")
        return _run_stdin(arguments, settings)
    if _allowed(arguments) and (arguments.baseline is not None or arguments.add_ignores):
        raise UsageError("--fix and --diff stand without --baseline and --add-ignores")
    if arguments.stdin_filename is not None:
        raise UsageError("--stdin-filename needs - as the path")
    return _run_files(arguments, settings)


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _allowed(arguments: argparse.Namespace) -> tuple[Safety, ...]:
    if arguments.unsafe_fixes:
        return Safety.SAFE, Safety.UNSAFE
    return (Safety.SAFE,) if arguments.fix or arguments.diff else ()


def _wants_trials(arguments: argparse.Namespace) -> bool:
    """Whether anybody will look at the fixes: each trial of one costs a check of its file."""
    return bool(_allowed(arguments)) or arguments.output_format in ("json", "sarif")


def _output(arguments: argparse.Namespace) -> Output:
    return Output(arguments.output_format, arguments.statistics, arguments.quiet, arguments.diff, arguments.exit_zero)


def _run_files(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.config is not None:
        settings.of_file(Path("x.py"))
    found = find_files(arguments.paths or ["."], settings.excludes)
    configs = {path: settings.of_file(Path(path)) for path in found.files}
    progress = Progress(len(found.files), quiet=arguments.quiet)
    try:
        trials = _wants_trials(arguments)
        cache = Cache(Path.cwd(), trials=trials) if _wants_cache(arguments) else None
        how = {"measure": arguments.statistics, "trials": trials}
        outcomes = _check_files(list(configs.items()), arguments.jobs, progress, cache, how)
    finally:
        progress.close()
    for folder in found.empty:
        print(f"gradpath: no Python files under {safe_text(folder)}", file=sys.stderr)
    walked = [path for path in arguments.paths or ["."] if os.path.isdir(path)]
    problems = [*found.problems, *settings.problems]
    fixes: list[fix.Fixed] = []
    allowed = _allowed(arguments)
    if allowed:
        for index, checked in enumerate(gathered(outcomes, walked)):
            if any(diagnostic.fixes for diagnostic in checked.diagnostics):
                config = configs[checked.path]
                try:
                    fixed = fix.fix_file(checked.path, config, allowed, checked, write=not arguments.diff)
                except fix.UnwritableFile as error:
                    problems.append(Problem(checked.path, str(error)))
                    continue
                fixes.append(fixed)
                if fixed.count and not arguments.diff:
                    outcomes[index] = fixed.checked
        if not arguments.diff:
            _recheck_dependents(outcomes, configs, {fixed.checked.path for fixed in fixes if fixed.count})
    outcomes = gathered(outcomes, walked)
    if arguments.baseline is not None:
        if arguments.write_baseline:
            return _write_baseline(arguments, outcomes, problems)
        outcomes = _without_known(arguments, outcomes)
    if arguments.add_ignores:
        outcomes, failed = _add_ignores(outcomes, configs, quiet=arguments.quiet)
        problems += failed
    return _output(arguments).tell(outcomes, problems, fixes if allowed else None, sys.stdout)


def _write_baseline(arguments: argparse.Namespace, outcomes: Sequence[Checked], problems: Sequence[Problem]) -> int:
    found = [diagnostic for outcome in outcomes for diagnostic in outcome.diagnostics]
    count = baseline.write_baseline(arguments.baseline, found, baseline.texts_of(outcomes))
    if not arguments.quiet:
        mistakes = "1 mistake is" if count == 1 else f"{count} mistakes are"
        print(f"gradpath: {mistakes} known in {safe_text(str(arguments.baseline))}", file=sys.stderr)
    known = [replace(outcome, diagnostics=()) for outcome in outcomes]
    return Output("concise", quiet=True).tell(known, problems, None, sys.stdout)


def _without_known(arguments: argparse.Namespace, outcomes: Sequence[Checked]) -> list[Checked]:
    entries = baseline.read_baseline(arguments.baseline)
    kept, count = baseline.without_known(outcomes, entries, arguments.baseline, baseline.texts_of(outcomes))
    if count < len(entries) and not arguments.quiet:
        gone = len(entries) - count
        what = "1 entry fits nothing" if gone == 1 else f"{gone} entries fit nothing"
        print(f"gradpath: {safe_text(str(arguments.baseline))}: {what} any more", file=sys.stderr)
    return kept


def _add_ignores(
    outcomes: Sequence[Checked], configs: Mapping[str, Config], *, quiet: bool
) -> tuple[list[Checked], list[Problem]]:
    """Write suppressions to the files in which something was found, and check those anew."""
    # Imported here because it brings the analysis, which a run that finds everything in the cache does without.
    from gradpath.cli import ignores

    after, problems, count = list(outcomes), list[Problem](), 0
    for index, checked in enumerate(outcomes):
        if checked.diagnostics:
            try:
                fixed = ignores.ignore_in_file(checked.path, configs[checked.path], checked)
            except fix.UnwritableFile as error:
                problems.append(Problem(checked.path, str(error).replace("fixes not applied", "not written")))
                continue
            after[index] = fixed.checked
            count += fixed.count
    if not quiet:
        print(
            f"gradpath: {count} reports are ignored from now on".replace(" 1 reports are", " 1 report is"),
            file=sys.stderr,
        )
    return after, problems


def _wants_cache(arguments: argparse.Namespace) -> bool:
    """Whether earlier outcomes are used: where folders are checked, and nothing else is asked for."""
    if arguments.no_cache or arguments.statistics or arguments.add_ignores or _allowed(arguments):
        return False
    return any(os.path.isdir(path) for path in arguments.paths or ["."])


def _recheck_dependents(outcomes: list[Checked], configs: Mapping[str, Config], fixed: Collection[str]) -> None:
    """Check the files anew that depend on a file that was fixed."""
    changed = {os.path.abspath(path) for path in fixed}
    for index, checked in enumerate(outcomes):
        if not changed.isdisjoint(checked.dependencies):
            outcomes[index] = check_file(checked.path, configs[checked.path], measure=checked.understood is not None)


def _check_files(
    files: Sequence[tuple[str, Config]], jobs: int, progress: Progress, cache: Cache | None, how: Mapping[str, bool]
) -> list[Checked]:
    """The outcomes for files in their order, those that an earlier run has left among them."""
    outcomes: dict[str, Checked] = {}
    for path, config in files if cache is not None else ():
        found = cache.find(path, config) if cache is not None else None
        if found is not None:
            outcomes[path] = found
            progress.step()
    rest = [(path, config) for path, config in files if path not in outcomes]
    for (path, config), checked in zip(rest, _checked(rest, jobs, progress, how), strict=True):
        outcomes[path] = checked
        if cache is not None:
            cache.keep(checked, config)
    return [outcomes[path] for path, _ in files]


def _checked(
    files: Sequence[tuple[str, Config]], jobs: int, progress: Progress, how: Mapping[str, bool]
) -> Iterator[Checked]:
    """Check files with up to `jobs` processes (0: one a processor, where it is worth it)."""
    workers = min(jobs or _processors(), len(files))
    if workers > 1 and (jobs or len(files) >= _WORTH_PROCESSES):
        # Imported here because it costs more than the check of a small file.
        from gradpath.cli.workers import check_in_processes

        yield from check_in_processes(files, workers, progress.step, **how)
        return
    calm_collector()
    for path, config in files:
        yield check_file(path, config, **how)
        sweep()
        progress.step()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_stdin(arguments: argparse.Namespace, settings: Settings) -> int:
    name = arguments.stdin_filename or _STDIN
    config = settings.of_file(Path(arguments.stdin_filename or "stdin.py"))
    try:
        data = sys.stdin.buffer.read() if sys.stdin else b""
        document = source_of(name, data)
    except ValueError as error:
        return _output(arguments).tell([Checked(name, problem=str(error))], settings.problems, None, sys.stdout)
    checked = check_document(document, config, measure=arguments.statistics, trials=_wants_trials(arguments))
    allowed = _allowed(arguments)
    if not allowed:
        return _output(arguments).tell([checked], settings.problems, None, sys.stdout)
    fixed = fix.fix_document(document, config, allowed, checked)
    if isinstance(document, CellsDocument):
        fixed = fix.in_file(fixed, decode_notebook(data))
    if arguments.diff:
        return _output(arguments).tell([checked], settings.problems, [fixed], sys.stdout)
    # The fixed text goes to standard output, as of any filter, so the diagnostics go to standard error.
    sys.stdout.buffer.write(fixed.after.text.encode("utf-8"))
    return _output(arguments).tell([fixed.checked], settings.problems, [fixed], sys.stderr)
