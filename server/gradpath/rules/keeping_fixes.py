"""Detaching what is carried over in the body that can name it: behind the call that has just gone back through it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Fix, Safety
from gradpath.interpreter.trace import Bound, Form, Held, Kept, Site, Stored
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.carrying import Case
from gradpath.rules.graphs import nodes_of, reach
from gradpath.rules.syntax import Compound, arguments_of, binds_first, function_of, is_read_first, statement_of

MOST = 4
"""Values that one fix detaches."""


def detached_where_kept(case: Case) -> Iterator[Fix]:
    """`model.state = model.state.detach()` after the backward, or behind the call in the loop that leads to it."""
    if not _is_trained_otherwise(case):
        return
    for frame in case.again.frames():
        if case.number not in dict(frame.loops):
            return
        statement = statement_of(case.trace, frame.node)
        if statement is None or isinstance(statement, (ast.Return, Compound)):
            continue
        fixes = [fix for found in _carriers(case, frame) for fix in _detached(case, frame, statement, found)]
        yield from fixes
        if fixes:
            return


def _is_trained_otherwise(case: Case) -> bool:
    """Whether the loss leads to a leaf by what this iteration computed: what a memory keeps may be all that it has."""
    now = dict(case.again.loops).get(case.number, 0)
    todo = nodes_of(case.roots)
    seen = set(todo)
    while todo:
        node = todo.pop()
        turn = dict(node.site.loops).get(case.number, 0) if isinstance(node.site, Site) else 0
        if 0 < turn < now:
            continue
        if node.accumulates is not None or node.is_open:
            return True
        todo += [edge for edge in node.edges if edge not in seen]
        seen.update(node.edges)
    return False


def _detached(case: Case, frame: Site, statement: ast.stmt, found: list[Kept]) -> Iterator[Fix]:
    """All of what is `found` in the body of `frame`, behind the statement that has gone back, or at the start."""
    document = case.source.document(frame)
    lines = [line for each in found[:MOST] for line in _lines(case, each, edits.indent_unit(document))]
    edit = edits.insert_after(document, statement, *lines)
    if edit is None or len(found) > MOST or not all(lines):
        return
    names, text = tuple(each.text for each in found), lines[0] if len(lines) == 1 else ""
    repair = Repair(Way.DETACH_AFTER, names, (statement.end_lineno or statement.lineno,), text)
    rarer = _is_rarer(case, statement)
    if rarer and any(each.form.kind in ("list", "deque", "dict") for each in found):
        return  # A loss of a few items may then have nothing else to lead back to.
    cached = bool(case.carried) and case.carried[0].cached
    stale = cached and not any(_is_renewed(case, each) for each in found)  # It would never be trained again.
    safety = Safety.UNSAFE if stale or rarer else Safety.SAFE
    yield Fix.by(repair, safety, (edit,), preferred=True)
    yield from _at_the_start(case, frame, found, safety)


def _is_rarer(case: Case, statement: ast.stmt) -> bool:
    """Whether the statement that leads to the backward has run without it: what is kept waits for the next one."""
    call = statement_of(case.trace, case.again.node)
    return call is not None and case.trace.visits.get(statement, 0) > case.trace.visits.get(call, 0)


def _at_the_start(case: Case, frame: Site, found: list[Kept], safety: Safety) -> Iterator[Fix]:
    """The same at the start of the loop's body, for a list or dict that gets its values after the backward."""
    if not all(each.form.kind in ("list", "dict", "deque") for each in found) or not _is_in_loop(case, frame):
        return
    body = case.loop.body
    document = case.source.document(frame)
    lines = [line for each in found for line in _lines(case, each, edits.indent_unit(document))]
    edit = edits.insert_before(document, body[0], *lines)
    if edit is not None and body[0].lineno > case.loop.lineno:
        names, text = tuple(each.text for each in found), lines[0] if len(lines) == 1 else ""
        repair = Repair(Way.DETACH_BEFORE, names, (body[0].lineno,), text)
        yield Fix.by(repair, safety, (edit,), preferred=True)


def _is_renewed(case: Case, kept: Kept) -> bool:
    """Whether the iteration that fails has put something new into what is kept."""
    now = dict(case.again.loops).get(case.number)
    sites = [each.node.site for each in kept.form.tensors if each.node is not None]
    return any(isinstance(site, Site) and dict(site.loops).get(case.number) == now for site in sites)


def forgotten(case: Case) -> Iterator[Fix]:
    """`model.cache = None` or `model.cache.clear()` after the backward, for what is computed where it is missing."""
    for frame in case.again.frames():
        if case.number not in dict(frame.loops):
            return
        found = next(iter(_carriers(case, frame)), [])
        statement = statement_of(case.trace, frame.node)
        if not 0 < len(found) <= MOST or statement is None or isinstance(statement, (ast.Return, Compound)):
            continue
        lines = list(dict.fromkeys(_emptying(case, each) for each in found))
        known = [line for line in lines if line is not None]
        edit = edits.insert_after(case.source.document(frame), statement, *known)
        if edit is not None and len(known) == len(lines):
            names, text = tuple(each.text for each in found), known[0] if len(known) == 1 else ""
            repair = Repair(Way.FORGET_AFTER, names, (statement.end_lineno or statement.lineno,), text)
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True)
        return


def _emptying(case: Case, kept: Kept) -> str | None:
    """What makes the program compute a value anew: it began as None, as an empty container, or was not there."""
    name = kept.text.rpartition(".")[2]
    text = kept.text.partition("[")[0]
    for statement in case.trace.visits:
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=bound) | ast.Name(id=bound)], value=value):
                match value:
                    case ast.Constant(value=None) if bound == name and _is_asked(case, name):
                        return f"{kept.text} = None"
                    case ast.Dict(keys=[]) | ast.List(elts=[]) if bound == text.rpartition(".")[2]:
                        return f"{text}.clear()"
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=asked)) if "." in kept.text:
                match asked:
                    case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=attribute)]):
                        if attribute == name:
                            return f"del {kept.text}"
                    case ast.Call(func=ast.Name(id="hasattr"), args=asked_for) if _is_set(case, asked_for):
                        return f"del {kept.text}"
    return None


def _is_asked(case: Case, name: str) -> bool:
    """Whether a condition of the program depends on a variable or an attribute of that name, so that None is seen."""
    tests = (
        each.test
        for statement in case.trace.visits
        for each in ast.walk(statement)
        if isinstance(each, (ast.If, ast.IfExp, ast.While))
    )
    return any(
        (isinstance(part, ast.Name) and part.id == name)
        or (isinstance(part, ast.Attribute) and part.attr == name)
        or (isinstance(part, ast.Constant) and part.value == name)
        for test in tests
        for part in ast.walk(test)
    )


def _is_set(case: Case, asked_for: list[ast.expr]) -> bool:
    """Whether the program sets the attribute that `hasattr(self.module, self.name)` asks for."""
    wanted = [ast.dump(each) for each in asked_for]
    return any(
        isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "setattr"
        and [ast.dump(each) for each in call.args[:2]] == wanted
        for statement in case.trace.visits
        for call in ast.walk(statement)
    )


def _carriers(case: Case, frame: Site) -> list[list[Kept]]:
    """What a running body can name that carries the old graph: values that outlive its iteration, or its call.

    First those that the carried values were put into, then what else leads back.
    """
    body = next((each for each in case.again.frames() if each.caller is frame.caller), frame)
    inside = _is_in_loop(case, body)
    function = function_of(case.trace, frame.node)
    given = arguments_of(function) if function is not None else set()
    names, containers = _homes(case)
    found: list[Kept] = []
    others: list[Kept] = []
    for kept in case.kept:
        if kept.caller is not frame.caller or kept.form.kind == "optimizer" or not _is_stale(case, kept.form.tensors):
            continue
        read = inside and is_read_first(case.loop.body, kept.root)
        if inside:
            lives = read or (frame.caller is None and not binds_first(case.loop.body, kept.root))
        else:
            lives = kept.root in given and kept.text != kept.root
        if not lives:
            continue
        variable, _, key = kept.text.rpartition(".")[2].partition("[")
        held = kept.form.container
        if (
            variable in names
            or key.strip("\"'[]") in names
            or id(held) in containers
            or any(each.node in _entered(case) for each in kept.form.tensors)
        ):
            found.append(kept)
        elif read or kept.form.kind != "tensor" or kept.text == kept.root or kept.form.tensors[0].is_parameter:
            others.append(kept)
    return [each for each in (found, others) if each]


def _is_in_loop(case: Case, body: Site) -> bool:
    """Whether the loop is run by the body that a site is in, not by one of its callers."""
    return body.caller is None or case.number not in dict(body.caller.loops)


def _entered(case: Case) -> set[Node]:
    """The nodes by which the graph of the earlier iteration is entered."""
    return {each.node for each in case.carried}


def _homes(case: Case) -> tuple[set[str], set[int]]:
    """Where the carried tensors were put: the names of variables and attributes, and containers."""
    nodes = _entered(case)
    names = {each.name.rpartition(".")[2] for each in case.carried if each.name}
    containers: set[int] = set()
    for event in case.trace.events:
        match event:
            case Bound(value=Held() as held):
                if any(each.node in nodes for each in held.tensors):
                    names.add(event.name)
            case Bound() if event.tensor is not None and event.tensor.node in nodes:
                names.add(event.name)
            case Stored():
                parts = event.value if isinstance(event.value, tuple) else (event.value,)
                tensors = [getattr(each, "tensor", None) for each in parts]
                if any(getattr(each, "node", None) in nodes for each in tensors):
                    containers.add(id(event.container))
    return names, containers


def _is_stale(case: Case, tensors: Iterable[object]) -> bool:
    """Whether something leads back to what the earlier call has freed, or to what cannot be gone through again."""
    starts = [node for each in tensors if isinstance(node := getattr(each, "node", None), Node)]
    return any(each is case.node or (each.holds and each.freed_by is not None) for each in reach(starts))


_OTHERS = frozenset({"OrderedDict", "defaultdict", "deque", "Counter"})
"""Containers that a comprehension would not give back as they are."""


def _lines(case: Case, kept: Kept, indent: str) -> list[str]:
    """The lines that take a value out of its graph; an empty one where there is no way."""
    if kept.form.kind == "tensor" and kept.form.tensors[0].is_parameter:
        return [f"{kept.text}.detach_()"]
    other = kept.form.kind in ("list", "dict") and _is_other(case, kept.text.rpartition(".")[2])
    if other or kept.form.kind == "deque":
        return _item_by_item(kept, indent)
    text = detached(kept.form, kept.text, {kept.root})
    return [f"{kept.text} = {text}" if text is not None else ""]


def _is_other(case: Case, variable: str) -> bool:
    """Whether the program makes a variable a container of a kind of its own: a `deque`, an `OrderedDict`."""
    for statement in case.trace.visits:
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr=name) | ast.Name(id=name)], value=ast.Call(func=maker)):
                called = maker.attr if isinstance(maker, ast.Attribute) else getattr(maker, "id", "")
                if name == variable and called in _OTHERS:
                    return True
    return False


def _item_by_item(kept: Kept, indent: str) -> list[str]:
    """`for key in bank:` and its body, which detaches each item where it is."""
    names = ("key", "name") if kept.form.kind == "dict" else ("index", "number")
    name = next(each for each in names if each != kept.root)
    shapes = {_shape(part) for _, part in kept.form.parts}
    item = f"{kept.text}[{name}]"
    text = detached(kept.form.parts[0][1], item, {kept.root, name}) if len(shapes) == 1 else None
    every = kept.text if kept.form.kind == "dict" else f"range(len({kept.text}))"
    return [""] if text is None or kept.form.open else [f"for {name} in {every}:", f"{indent}{item} = {text}"]


def detached(form: Form, text: str, taken: set[str]) -> str | None:
    """The expression that holds the same values as `text`, without their graphs; None where none is short enough."""
    if form.kind in ("tensor", "detachable"):
        return f"{text}.detach()"
    if form.kind == "record":
        fields = [(name, detached(part, f"{text}.{name}", taken)) for name, part in form.parts]
        changes = ", ".join(f"{name}={value}" for name, value in fields)
        return f"{text}._replace({changes})" if all(value for _, value in fields) else None
    if not form.parts or form.open:
        return None
    if len({_shape(part) for _, part in form.parts}) > 1:
        if form.kind == "dict" or len(form.parts) > MOST:
            return None
        items = [detached(part, f"{text}[{name}]", taken) for name, part in form.parts]
        if not all(items):
            return None
        joined = ", ".join(item for item in items if item)
        return f"[{joined}]" if form.kind == "list" else f"({joined}{',' if len(items) == 1 else ''})"
    first = form.parts[0][1]
    choice = ("state", "each") if first.kind in ("tensor", "detachable") else ("states", "group")
    name = next((each for each in choice if each not in taken), "item")
    item = detached(first, name, {*taken, name})
    if item is None:
        return None
    match form.kind:
        case "tuple":
            return f"tuple({item} for {name} in {text})"
        case "list":
            return f"[{item} for {name} in {text}]"
        case _:
            return f"{{key: {item} for key, {name} in {text}.items()}}"


def _shape(form: Form) -> object:
    """What two forms have in common that one expression can detach."""
    if form.kind in ("tuple", "list") and len({_shape(part) for _, part in form.parts}) > 1:
        return form.kind, tuple(_shape(part) for _, part in form.parts)
    return form.kind, tuple({_shape(part) for _, part in form.parts}) if form.kind != "record" else form.parts[0][0]


def value_alone(name: str, held: Held | None) -> str | None:
    """The line that takes what a variable holds out of its graph; None where it holds other things, too."""
    item = "state" if name != "state" else "each"
    match held:
        case None:
            return f"{name} = {name}.detach()"
        case Held(complete=False):
            return None
        case Held(kind="tuple"):
            return f"{name} = tuple({item}.detach() for {item} in {name})"
        case Held(kind="list"):
            return f"{name} = [{item}.detach() for {item} in {name}]"
        case _:
            return f"{name} = {{key: {item}.detach() for key, {item} in {name}.items()}}"
