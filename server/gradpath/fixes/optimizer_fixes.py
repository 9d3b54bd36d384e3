"""An optimizer that has not what is to be trained: made later, of other parameters or of more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from gradpath.autograd.tensor import UNSEEN
from gradpath.diagnostic import Edit, Fix, Range, Safety
from gradpath.findings.graphs import reached_leaves
from gradpath.findings.parameters import ways_of
from gradpath.findings.report import Source
from gradpath.findings.stories import target_of
from gradpath.findings.syntax import call_of, class_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.origins import given_to
from gradpath.fixes.requirement import optimizers
from gradpath.interpreter.events import BackwardRan, Bound, Site, Stepped
from gradpath.interpreter.ownership import Given, Named, Overlooked
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import contents, inside
from gradpath.source.nodes import last_name


def reached(trace: Trace, source: Source, step: Stepped) -> Iterator[Fix]:
    """Fixes after which the parameters of the optimizer that steps get gradients."""
    made = optimizers(trace)
    if len(made) == 1:
        ((statement, site),) = made.items()
        yield from _made_later(trace, source, step, statement)
        yield from of_others(trace, source, site)


def _made_later(trace: Trace, source: Source, step: Stepped, making: ast.Assign) -> Iterator[Fix]:
    """After what last makes its model again, or gives it a new part: `model.fc = nn.Linear(8, 3)`."""
    names = {ast.unparse(each) for each in inside(making.value, ast.Name, ast.Attribute)} - {"self"}
    owners = tuple(f"{name}." for name in names)
    later = [each for each in trace.visits if isinstance(each, ast.Assign) and each.lineno > making.lineno]
    bindings = [each for each in later if any(f"{ast.unparse(one)}.".startswith(owners) for one in each.targets)]
    for binding in bindings[-1:]:
        yield from _remade(trace, source.document(step.site), making, binding)


def given_too(
    trace: Trace, source: Source, given: Given, made: Site | None, part: str = "", *, is_leaf: bool = False
) -> Iterator[Fix]:
    """The optimizer gets a `part`, which the statement at `made` binds: when it is made, later, again, or by itself.

    Where nothing binds it, the part is an argument of the function. A leaf is given itself.
    """
    part = re.sub(r"\.(\d+)", r"[\1]", part)
    parameters = f"[{part}]" if is_leaf else f"{part}.parameters()"
    call, making = call_of(trace, given.site.node), _assignment(trace, given.site)
    if call is not None and call.args and part:
        way = Way.LEAF_TOO if is_leaf else Way.PARAMETERS_TOO
        document = source.document(given.site)
        text, item = edits.flat(document, call.args[0]), part if is_leaf else f"*{parameters}"
        match call.args[0]:
            case ast.List(elts=[ast.Dict(), *_] as groups):  # A parameter by itself is no group.
                end = document.range_of(groups[-1]).end
                change = Edit(document.path, Range(end, end), f', {{"params": {parameters}}}')
            case ast.BinOp() | ast.List():
                more = parameters if is_leaf else f"list({parameters})"
                change = edits.replace(document, call.args[0], f"{text} + {more}")
            case _:
                change = edits.replace(document, call.args[0], f"[*{text}, {item}]")
        yield Fix.by(Repair(way, (part,)), Safety.UNSAFE, (change,))
    for frame in () if made is None else made.frames():
        binding = statement_of(trace, frame.node)
        if making is not None and isinstance(binding, ast.Assign | ast.Expr) and given.site.path == frame.path:
            yield from _remade(trace, source.document(frame), making, binding, part and parameters, part)


def _remade(
    trace: Trace,
    document: Document,
    making: ast.Assign,
    binding: ast.Assign | ast.Expr,
    parameters: str = "",
    part: str = "",
) -> Iterator[Fix]:
    """The optimizer is made after the statement that binds what it lacks, gets its `parameters`, or is made again."""
    optimizer, shown = edits.flat(document, making.targets[0]), edits.flat(document, binding)
    after = None
    if function_of(trace, making) is function_of(trace, binding):
        after = edits.relocated(document, [making], partial(edits.insert_after, document, binding))
    bound = edits.flat(document, binding.targets[0]) if isinstance(binding, ast.Assign) else shown
    again = edits.insert_after(document, binding, edits.flat(document, making))
    group = f'{optimizer}.add_param_group({{"params": {parameters}}})'
    added = edits.insert_after(document, binding, group) if part else None
    for way, subject, text, changes in (
        (Way.OPTIMIZER_AFTER, optimizer, bound, after),
        (Way.ADD_GROUP, part, group, None if added is None else (added,)),
        (Way.OPTIMIZER_AGAIN, optimizer, bound, None if again is None else (again,)),
    ):
        yield from Fix.of(Repair(way, (subject,), text=text), Safety.UNSAFE, changes)


def loaded(trace: Trace, source: Source, bound: Site) -> Iterator[Fix]:
    """`model.load_state_dict(best.state_dict())` for `model = copy.deepcopy(best)`: the optimizer keeps its model."""
    statement, document = statement_of(trace, bound.node), source.document(bound)
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            if isinstance(value, ast.Call) and last_name(value.func) in ("deepcopy", "copy") and len(value.args) == 1:
                value = value.args[0]
            text = f"{edits.flat(document, target)}.load_state_dict({edits.flat(document, value)}.state_dict())"
            if isinstance(value, ast.Name | ast.Attribute):
                repair = Repair(Way.LOAD_VALUES, text=text)
                yield Fix.by(repair, Safety.UNSAFE, (edits.replace(document, statement, text),))


def _assignment(trace: Trace, site: Site) -> ast.Assign | None:
    """The innermost statement that binds what a call at `site`, or the function around it, makes."""
    found = (statement_of(trace, frame.node) for frame in site.frames())
    return next((each for each in found if isinstance(each, ast.Assign)), None)


def of_others(trace: Trace, source: Source, made: Site) -> Iterator[Fix]:
    """`Adam(student.parameters())` for `Adam(teacher.parameters())`: of a module with gradients that nothing steps."""
    match call_of(trace, made.node):
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module)), *_]):
            pass
        case _:
            return
    owned = {id(each) for event in trace.of(Stepped) for each in event.held}
    missed = {id(leaf): leaf for run in trace.of(BackwardRan) for leaf in reached_leaves(run) if id(leaf) not in owned}
    named = [event for event in trace.of(Named) if not missed.keys().isdisjoint(ways_of(trace, event))]
    names = [leaf.label for leaf in missed.values() if leaf.operation == UNSEEN]
    names += [target_of(source, event) for event in named]
    document = source.document(made)
    for name in dict.fromkeys(names):
        if name and name != edits.flat(document, module):
            change = edits.replace(document, module, name)
            yield Fix.by(Repair(Way.PARAMETERS_OF, (name,)), Safety.UNSAFE, (change,))


def registered(trace: Trace, source: Source, overlooked: Overlooked) -> Iterator[Fix]:
    """`nn.ModuleList` (or its kin) around what is put into an attribute, so that `parameters()` finds it."""
    statement = statement_of(trace, overlooked.site.node)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return
    document = source.document(overlooked.site)
    nn = source.called("torch.nn", document.path)
    if nn is None:
        return
    kind = "Parameter" if overlooked.bare else "Module"
    wrapper = f"{nn}.{kind}{'Dict' if overlooked.kind == 'dict' else 'List'}"
    new = edits.put_into(document, statement.value, wrapper)
    for each in _lists_in(trace, statement):
        new += edits.put_into(document, each, f"{nn}.{kind}List")
    yield Fix.by(Repair(Way.HOLD_IN, text=wrapper), Safety.UNSAFE, new)


def _lists_in(trace: Trace, statement: ast.Assign | ast.AnnAssign) -> Iterator[ast.expr]:
    """The lists that a function puts into the list that a statement makes: written in it, or appended."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    for each in given_to(trace, ast.unparse(target)):
        match each:
            case ast.List(elts=items) if each is statement.value:
                pass
            case ast.ListComp(elt=item) if each is statement.value:
                items = [item]
            case _:
                items = [each] if function_of(trace, each) is function_of(trace, statement) else []
        yield from (item for item in items if isinstance(item, (ast.List, ast.ListComp)))


def parameter_of_result(trace: Trace, source: Source, bound: Bound) -> Iterator[Fix]:
    """`nn.Parameter(x) * 0.1` becomes `nn.Parameter(x * 0.1)` where it is given a name, so that this is no result."""
    document, whole = source.document(bound.site), getattr(statement_of(trace, bound.site.node), "value", None)
    if whole is None:
        return
    match [each for each in contents(whole).calls if last_name(each.func) == "Parameter" and each is not whole]:
        case [ast.Call(args=[made]) as call] if not isinstance(made, ast.Starred):
            outer, given, own = (document.range_of(each) for each in (whole, made, call))
            parts = ((outer.start, own.start), (own.end, outer.end), (own.start, given.start), (given.end, own.end))
            head, tail, making, options = (document.slice(Range(*each)) for each in parts)
            text = f"{making}{head}{edits.followed(document.slice(given), made, '')}{tail}{options}"
            repair = Repair(Way.PARAMETER_OF_RESULT, text=" ".join(text.split()))
            yield Fix.by(repair, Safety.SAFE, (edits.replace(document, whole, text),))


def made_once(trace: Trace, source: Source, made: Site) -> Iterator[Fix]:
    """`head = nn.Linear(8, 1)` in a `forward` becomes `head = self.head`, which `__init__` makes at its end."""
    owner = class_of(trace, made.node)
    methods = {} if owner is None else {each.name: each for each in owner.body if isinstance(each, ast.FunctionDef)}
    begin, known = methods.get("__init__"), [] if owner is None else inside(owner, ast.Attribute)
    match statement_of(trace, made.node):
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if begin is not None:
            document, own = source.document(made), begin.args.args[0].arg
            text = f"{own}.{name} = {edits.flat(document, call)}"
            if all(each.attr != name for each in known):
                new = edits.insert_after(document, begin.body[-1], text)
                repair = Repair(Way.MAKE_ONCE, text=text)
                yield from Fix.of(repair, Safety.UNSAFE, edits.replace(document, call, f"{own}.{name}"), new)
