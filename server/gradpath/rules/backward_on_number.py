"""`backward()` on a Python number: a loss that was read out of its tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.autograd.ops import find_op
from gradpath.diagnostic import Edit, Fix, Level, Safety
from gradpath.findings.report import Report, Rule, Source, Step
from gradpath.findings.stories import name_of
from gradpath.findings.syntax import call_of, function_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Failed, ReadOut
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.index import holds, inside
from gradpath.support.fast_dataclasses import replace


def find(trace: Trace, source: Source) -> Iterator[Report]:
    """Attribute errors for `backward` on a float or an int."""
    for failure in trace.failures():
        node = failure.site.node
        if failure.exception != "AttributeError" or not isinstance(node, ast.Attribute) or node.attr != "backward":
            continue
        if failure.read is not None or (isinstance(failure.subject, (int, float)) and not _has_options(trace, node)):
            yield _report(trace, source, failure, node, failure.read)


def _has_options(trace: Trace, node: ast.Attribute) -> bool:
    """True if several branches of the function add to the loss, and none was taken: who takes none trains nothing."""
    function = function_of(trace, node)
    name = ast.unparse(node.value)
    branches = [] if function is None else inside(function, ast.If)
    adding = [each for each in branches if any(ast.unparse(add.target) == name for add in inside(each, ast.AugAssign))]
    return len(adding) > 1


def _report(trace: Trace, source: Source, failure: Failed, node: ast.Attribute, read: ReadOut | None) -> Report:
    at = replace(failure.site, node=call_of(trace, node) or node)
    loss = source.short(failure.site, node.value, 30)
    fixes = source.proposed(_fixes(trace, source, read))
    steps: list[Step] = []
    if read is None:
        headline = f"`{loss}` is still the number {failure.subject} here: no loss was added to it"
        made = _last_number(trace, source, failure, loss)
        steps += [made] if made is not None else []
        help_text = "start from a tensor, or call backward only where a loss was added"
    else:
        what = name_of(trace, source, read.tensor, failure.site)
        by = _reader(read)
        value = f"`{what}`" if what and len(what) <= 30 and what != loss else "its tensor"
        inside = holds(node.value, read.site.node)
        if inside:
            headline = f"`{loss}` is a Python number: `{by}` takes the value without the graph"
        else:
            headline = f"`{loss}` is a Python number: `{by}` on line {read.site.line} took it out of {value}"
        steps.append(Step(read.site, f"`{by}` turns it into a Python number"))
        help_text = f"call backward on the tensor, and `{by}` only for what is printed or summed up"
    steps.append(Step(at, "a number has no graph"))
    return Report(
        at,
        headline,
        tuple(steps),
        raised_at=failure.site,
        pytorch=f"AttributeError: {failure.message}",
        help=help_text,
        fixes=fixes,
    )


def _reader(read: ReadOut) -> str:
    """What reads a number out, as the program calls it: `.item()`, `float()`, `math.sqrt()`."""
    match read.site.node:
        case ast.Call(func=ast.Attribute() as function, args=[_, *_]):
            return f"{ast.unparse(function)}()"
    return f".{read.how}()" if read.how in ("item", "tolist") else f"{read.how}()"


def _last_number(trace: Trace, source: Source, failure: Failed, name: str) -> Step | None:
    """The assignment of a constant to the variable, for a label."""
    for statement in trace.visits:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            site = replace(failure.site, node=statement)
            if any(source.text(site, target) == name for target in statement.targets):
                return Step(site, "a number")
    return None


def _fixes(trace: Trace, source: Source, read: ReadOut | None) -> Iterator[Fix]:
    if read is None or not isinstance(read.site.node, ast.Call):
        return
    call = read.site.node
    document = source.document(read.site)
    lines = (read.site.line,)
    edit: Edit | None
    match call.func:
        case ast.Attribute(value=module, attr=name) if call.args:  # A function of `math`, which PyTorch has, too.
            torch = source.called("torch", document.path) if find_op(f"torch.{name}") else None
            edit = None if torch is None else edits.replace(document, module, torch)
            repair = Repair(Way.WITH_PYTORCH, lines=lines)
        case ast.Attribute(attr=name):
            edit, repair = edits.drop_method(document, call), Repair(Way.DROP_CUT, lines=lines, text=f".{name}()")
        case _:
            edit, repair = edits.unwrap_call(document, call), Repair(Way.DROP_CUT, lines=lines, text=f"{read.how}()")
    if edit is not None:
        yield Fix.by(repair, Safety.SAFE, (edit,))


RULE = Rule(
    "backward-on-number",
    "detach",
    Level.ERROR,
    "`backward()` on a Python number: the loss went through `.item()`, `float()` or stayed a plain 0",
    find,
    raises=(r"'(?:float|int|numpy\.\w+|ndarray)' object has no attribute 'backward'",),
    pytorch="AttributeError: 'float' object has no attribute 'backward'",
)
