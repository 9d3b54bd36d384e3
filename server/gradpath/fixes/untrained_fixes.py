"""Ways to give an optimizer the parameters that none holds: made later, given more, or found in a container."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradpath.diagnostic import Fix, Safety
from gradpath.findings.report import Source
from gradpath.findings.syntax import arguments_of, call_of, function_of, statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import moved_after, moved_before
from gradpath.interpreter.ownership import Given, Overlooked
from gradpath.interpreter.trace import Site, Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document


def built_later(trace: Trace, source: Source, given: Given, attached: Site) -> Iterator[Fix]:
    """The optimizer is made after what `attached` a new part to its model, or is given that part as well."""
    making, attaching = statement_of(trace, given.site.node), statement_of(trace, attached.node)
    if not isinstance(making, ast.Assign) or not isinstance(attaching, ast.Assign) or given.site.path != attached.path:
        return
    document = source.document(attached)
    part = edits.flat(document, attaching.targets[0])
    optimizer = edits.flat(document, making.targets[0])
    moved = moved_after(trace, document, [making], attaching)
    if moved is not None:
        yield Fix.by(Repair(Way.OPTIMIZER_AFTER, (optimizer,), text=part), Safety.UNSAFE, moved)
    moved = moved_before(trace, document, attaching, making)
    if moved is not None:
        yield Fix.by(Repair(Way.SET_BEFORE, (part,), text=optimizer), Safety.UNSAFE, moved)
    near = function_of(trace, making) is function_of(trace, attaching) or optimizer.startswith("self.")
    is_module = isinstance(attaching.value, ast.Call) and not _makes_parameter(attaching.value)
    line = f'{optimizer}.add_param_group({{"params": {part}{".parameters()" if is_module else ""}}})'
    added = edits.insert_after(document, attaching, line) if near and attaching.lineno > making.lineno else None
    if added is not None:
        yield Fix.by(Repair(Way.ADD_GROUP, (part,), text=line), Safety.UNSAFE, (added,))


def _makes_parameter(call: ast.Call) -> bool:
    return isinstance(call.func, (ast.Name, ast.Attribute)) and ast.unparse(call.func).endswith("Parameter")


def given_too(
    trace: Trace, source: Source, given: Given, named: Site | None, name: str, *, is_leaf: bool = False
) -> Iterator[Fix]:
    """`[*encoder.parameters(), *decoder.parameters()]` for the optimizer, where `named` bound the decoder before it.

    What nothing in the function binds has to be an argument of it. A leaf is given itself.
    """
    making, call = statement_of(trace, given.site.node), call_of(trace, given.site.node)
    if making is None or call is None or not call.args:
        return
    if named is None:
        function = function_of(trace, making)
        if function is None or name not in arguments_of(function):
            return
    else:
        binding = statement_of(trace, named.node)
        if binding is None or binding.lineno > making.lineno or given.site.caller is not named.caller:
            return
    document = source.document(given.site)
    text = edits.flat(document, call.args[0])
    match call.args[0]:
        case ast.Call(func=ast.Attribute(attr="parameters")):
            new = f"[*{text}, {name if is_leaf else f'*{name}.parameters()'}]"
        case ast.BinOp() | ast.List() | ast.Call(func=ast.Name(id="list")):
            new = f"{text} + {f'[{name}]' if is_leaf else f'list({name}.parameters())'}"
        case _:
            return
    change = edits.replace(document, call.args[0], new)
    yield Fix.by(Repair(Way.LEAF_TOO if is_leaf else Way.PARAMETERS_TOO, (name,)), Safety.UNSAFE, (change,))


def of_original(trace: Trace, source: Source, given: Given) -> Iterator[Fix]:
    """`Adam(student.parameters())` for `Adam(teacher.parameters())`, where the teacher is a copy of the student."""
    call = call_of(trace, given.site.node)
    match call:
        case ast.Call(args=[ast.Call(func=ast.Attribute(attr="parameters", value=module)), *_]):
            copied = ast.unparse(module)
        case _:
            return
    for each in trace.visits:
        match each:
            case ast.Assign(targets=[target], value=ast.Call(args=[original])) if ast.unparse(target) == copied:
                near = each.lineno < call.lineno and function_of(trace, each) is function_of(trace, call)
                if near and isinstance(original, ast.Name | ast.Attribute):
                    document = source.document(given.site)
                    name = edits.flat(document, original)
                    change = edits.replace(document, module, name)
                    yield Fix.by(Repair(Way.PARAMETERS_OF, (name,)), Safety.UNSAFE, (change,))
                    return


def registered(trace: Trace, source: Source, overlooked: Overlooked) -> Iterator[Fix]:
    """`nn.ModuleList` (or its kin) around what is put into an attribute, so that `parameters()` finds it."""
    statement = statement_of(trace, overlooked.site.node)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return
    document = source.document(overlooked.site)
    nn = _name_of_nn(document)
    if nn is None:
        return
    kind = "Parameter" if overlooked.bare else "Module"
    wrapper = f"{nn}.{kind}{'Dict' if overlooked.kind == 'dict' else 'List'}"
    value = document.slice(document.range_of(statement.value))
    inner = f"({value})" if isinstance(statement.value, ast.Tuple) and not value.startswith("(") else value
    new = (edits.replace(document, statement.value, f"{wrapper}({inner})"),)
    yield Fix.by(Repair(Way.HOLD_IN, text=wrapper), Safety.UNSAFE, new)


def _name_of_nn(document: Document) -> str | None:
    """What a file calls `torch.nn`."""
    for pattern in _NN:
        found = re.search(pattern, document.text, re.M)
        if found is not None:
            return found[1] or "nn"
    torch = edits.torch_in(document)
    return None if torch is None else f"{torch}.nn"


_NN = (
    r"(?:^|;)[ \t]*from[ \t]+torch[ \t]+import[ \t]+(?:[^\n#]*,[ \t]*)?nn(?:[ \t]+as[ \t]+(\w+))?",
    r"(?:^|;)[ \t]*import[ \t]+torch\.nn[ \t]+as[ \t]+(\w+)",
)
