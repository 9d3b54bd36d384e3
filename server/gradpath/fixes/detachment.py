"""A value is taken out of its graph between what has spent that and what goes on from it, where a body can name it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import Node, Tensor
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.findings.crossing import Crossing, continuing, readings, reads_at
from gradpath.findings.graphs import reach
from gradpath.findings.report import Source
from gradpath.findings.syntax import Compound, arguments_of, binds_first, function_of, is_read_first, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Bound, Form, Held, Kept, Site, Stored
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.index import variables

MOST = 4
"""Values, or places, that one fix is about."""


def detachments(crossing: Crossing) -> Iterator[Fix]:
    """The places, in the order in which they are tried: after the backward, where the value is kept, used and read.

    After the backward comes first where its body has the variable, last where it belongs to another object.
    """
    after = [*_after_backward(crossing)]
    own = [fix for fix in after if all(each.removeprefix("self.").isidentifier() for each in fix.repairs[0].subjects)]
    yield from own
    yield from detached_where_kept(crossing)
    yield from _before_use(crossing)
    yield from (fix for fix in after if fix not in own)
    yield from detached_where_read(crossing)


def _fix(way: Way, names: Sequence[str], lines: Sequence[int], text: str, edit: Sequence[Edit]) -> Fix:
    repair = Repair(way, tuple(dict.fromkeys(names)), tuple(lines), text)
    return Fix.by(repair, Safety.SAFE, tuple(edit))


def _after_backward(crossing: Crossing) -> Iterator[Fix]:
    """`state = state.detach()` after the backward, or after the call in the loop that leads to it."""
    for frame in crossing.near.frames():
        if crossing.number not in dict(frame.loops):
            return
        statement = statement_of(crossing.trace, frame.node)
        if isinstance(statement, (ast.Return, Compound)):
            continue
        here = {name: form_of(bound) for use, name, bound in continuing(crossing) if use.caller is frame.caller}
        ways = [[(each.text, each.form) for each in found] for found in living(crossing, frame)] or [[*here.items()]]
        document, fixes = crossing.source.document(frame), list[Fix]()
        for found in ways:
            fixes += _rebound(document, found, statement, after=True)
            if crossing.loop is not None and _runs_loop(crossing, frame):  # Where a value comes later than that.
                fixes += _rebound(document, found, crossing.loop.body[0])
        yield from fixes
        if fixes:
            return


def _rebound(
    document: Document, values: Sequence[tuple[str, Form]], statement: ast.stmt, *, after: bool = False
) -> Iterator[Fix]:
    """The lines that take values out of their graphs before or `after` a statement.

    Before it they may be None as yet, so that is done on condition as well, for where it fails without.
    """
    unit, names = edits.indent_unit(document), [text for text, _ in values]
    lines = rebinding(values, unit)
    text = lines[0] if len(lines) == 1 else ""
    guard = " and ".join(f"{name} is not None" for name in names)
    way, line = (Way.DETACH_AFTER, statement.end_lineno) if after else (Way.DETACH_BEFORE, statement.lineno)
    for block in (lines, [] if after else [f"if {guard}:", *(unit + each for each in lines)]):
        edit = (edits.insert_after if after else edits.insert_before)(document, statement, *block)
        if lines and block and edit is not None:
            yield _fix(way, names, [line or statement.lineno], text, [edit])


def _runs_loop(crossing: Crossing, body: Site) -> bool:
    """True if the loop is run by the body that a site is in, not by one of its callers."""
    return crossing.loop is not None and (body.caller is None or crossing.number not in dict(body.caller.loops))


def living(crossing: Crossing, frame: Site) -> list[list[Kept]]:
    """What a running body can name that carries an old graph: values that outlive its iteration, or its call.

    First those that have been the entered values, then what else leads back.
    """
    body = next((each for each in crossing.near.frames() if each.caller is frame.caller), frame)
    function, loop = function_of(crossing.trace, frame.node), crossing.loop.body if crossing.loop is not None else []
    given = arguments_of(function) if function is not None else set()
    bound = {event.name for event in crossing.trace.of(Bound) if _is_entered(crossing, _bound_tensors(event))}
    found: tuple[list[Kept], list[Kept]] = ([], [])
    for kept in crossing.kept:
        if kept.caller is not frame.caller or kept.form.kind == "optimizer" or not _is_old(crossing, kept.form.tensors):
            continue
        read = is_read_first(loop, kept.root) or (frame.caller is None and not binds_first(loop, kept.root))
        if read if _runs_loop(crossing, body) else kept.root in given and kept.text != kept.root:
            name = kept.text.rpartition(".")[2].partition("[")[0]
            found[name not in bound and not _is_entered(crossing, kept.form.tensors)].append(kept)
    aliases = [each for each in found[0] if each.text == each.root and not is_read_first(loop, each.root)]
    held = {tensor for each in found[0] if each not in aliases for tensor in each.form.tensors}
    found = ([each for each in found[0] if each not in aliases or not held.issuperset(each.form.tensors)], found[1])
    return [each for each in found if 0 < len(each) <= MOST]


def _is_entered(crossing: Crossing, tensors: Sequence[Tensor]) -> bool:
    return any(each.node in crossing.entered for each in tensors)


def _bound_tensors(event: Bound) -> Sequence[Tensor]:
    if isinstance(event.value, Held):
        return event.value.tensors
    return () if event.tensor is None else (event.tensor,)


def _is_old(crossing: Crossing, tensors: Sequence[Tensor]) -> bool:
    """True if something leads back to what the earlier call has freed, or to what cannot be gone through again."""
    starts = [each.node for each in tensors if each.node is not None]
    return any(each in crossing.entered or (each.holds and each.freed_by is not None) for each in reach(starts))


def detached_where_kept(crossing: Crossing, *, early: bool = False) -> Iterator[Fix]:
    """`self.last = out.detach()`, `memory.append(x.detach())`: what is for later keeps the value alone.

    An `early` value is computed once, and trained by nothing: any variable keeps it.
    """
    places = [_keeping(crossing, edge, early=early) for edge in crossing.entered]
    found = [*{id(each[1]): each for each in places if each is not None}.values()]
    if None in places or len({each[0].path for each in found}) != 1 or len(found) > MOST:
        return
    document, targets = crossing.source.document(found[0][0]), [target for *_, target in found if target]
    if len(found) == 1 or not targets:
        kept = [edits.followed(edits.flat(document, value), value, ".detach()") for _, value, _ in found]
        changes = [edit for _, value, _ in found for edit in edits.append(document, value, ".detach()")]
        names = targets or [edits.flat(document, value) for _, value, _ in found]
        lines = sorted({value.lineno for _, value, _ in found})
        yield _fix(Way.STORE_VALUE, names, lines, " = ".join([*targets, ", ".join(kept)]), changes)


def _keeping(crossing: Crossing, node: Node, *, early: bool) -> tuple[Site, ast.expr, str] | None:
    """The expression of which the value is put where it is found later, and what that is called, if it has a name."""
    for event in reversed(crossing.trace.events):
        if not isinstance(event, Bound | Stored) or event.tensor is None or event.tensor.node is not node:
            continue
        match event.site.node, statement_of(crossing.trace, event.site.node):
            case ast.Call(args=[ast.Name() | ast.Attribute() as value]), _ if isinstance(event, Stored):
                return event.site, value, ""
            case _, ast.Assign(targets=[ast.Subscript() | ast.Attribute() as target], value=value) as statement:
                text, body = crossing.source.text(event.site, target), function_of(crossing.trace, statement)
                later = (each for each in variables(body) if each.lineno > statement.lineno) if body is not None else ()
                buffers = {each.name for each in crossing.trace.of(Bound) if isinstance(each.site.node, ast.Call)}
                if text in map(ast.unparse, later) and text.rpartition(".")[2] not in buffers:
                    return None  # What the body goes on with needs its graph.
                return event.site, value, text
            case _, ast.Assign(targets=[ast.Name(id=name)], value=value):
                again = crossing.loop is not None and is_read_first(crossing.loop.body, name)
                if early or (again and isinstance(value, ast.Name | ast.Attribute)):
                    return event.site, value, name
        if isinstance(event, Bound):
            for item in (each for each in _packed(crossing, event.site) if each.id == event.name):
                return event.site, item, ""
    return None


def _packed(crossing: Crossing, bound: Site) -> Iterator[ast.Name]:
    """The variables that the same body later puts into a tuple or a list that it keeps: `h` of `state = (h, c)`."""
    for each in crossing.trace.visits:
        match each:
            case ast.Assign(value=ast.Tuple(elts=items) | ast.List(elts=items)) if each.lineno > bound.line:
                if function_of(crossing.trace, each) is function_of(crossing.trace, bound.node):
                    yield from (item for item in items if isinstance(item, ast.Name))


def _before_use(crossing: Crossing) -> Iterator[Fix]:
    """`self.hidden = self.hidden.detach()` before the statement that goes on from it."""
    uses = continuing(crossing)
    statements = [statement_of(crossing.trace, use.node) for use, _, _ in uses]
    if len(set(statements)) == 1:
        values = {name: form_of(bound) for _, name, bound in uses}
        yield from _rebound(crossing.source.document(uses[0][0]), [*values.items()], statements[0])


def detached_where_read(crossing: Crossing) -> Iterator[Fix]:
    """`critic(fake.detach())` at each place by which the old graph is entered."""
    source, found = crossing.source, readings(crossing)
    lines = sorted({site.line for site, _ in found})
    if 0 < len(found) <= MOST:
        changes = [edit for site, read in found for edit in edits.append(source.document(site), read, ".detach()")]
        yield _fix(Way.DETACH_ON, [source.text(site, read) for site, read in found], lines, "", changes)


def detached_for(trace: Trace, source: Source, tensor: Tensor, site: Site, kept: tuple[Kept, ...]) -> Iterator[Fix]:
    """Where the operation at `site` cannot take a tensor with its graph: where it reads it, or where it is kept.

    Else `model.features = model.features.detach()` comes before the statement in the same body that leads to `site`.
    """
    holding = [each for each in kept if tensor in each.form.tensors]
    for frame in site.frames():
        reads, given = reads_at(trace, source, tensor, frame), operand_of(site.node)
        itself = isinstance(given, ast.Attribute) and source.text(site, given) in {each.text for each in holding}
        if not reads and frame is site and (itself or isinstance(given, ast.Call | ast.BinOp | ast.Subscript)):
            yield from rewritten(trace, source, site, ".detach()", Way.DETACH_ON)
        for read in reads:
            yield from rewritten(trace, source, frame, ".detach()", Way.DETACH_ON, read)
    if tensor.node is not None:
        yield from detached_where_kept(Crossing(trace, source, ((tensor.node, tensor.node),), site, kept))
        for each in [each for each in holding if not (each.text.isidentifier() or tensor.is_parameter)][:1]:
            near = next((frame for frame in site.frames() if frame.caller is each.caller), site)
            yield from _rebound(source.document(near), [(each.text, each.form)], statement_of(trace, near.node))


def rewritten(
    trace: Trace, source: Source, site: Site, suffix: str, way: Way, operand: ast.expr | None = None
) -> Iterator[Fix]:
    """`x.detach()` in place of the operand of an operation; `x = x.detach()` before a statement that changes `x`."""
    read, document = operand or operand_of(site.node), source.document(site)
    statement = statement_of(trace, site.node)
    if read is None:
        return
    text = edits.flat(document, read)
    own = isinstance(site.node, ast.Attribute) or (isinstance(statement, ast.Expr) and statement.value is site.node)
    if own and isinstance(read, ast.Name | ast.Attribute):
        line, before = f"{text} = {text}{suffix}", Way.DETACH_BEFORE if way is Way.DETACH_ON else way
        edit = edits.insert_before(document, statement, line)
        yield from Fix.of(Repair(before, (text,), (statement.lineno,), line), Safety.SAFE, edit)
    else:
        new = edits.followed(text, read, suffix)
        yield _fix(way, [text], [read.lineno], new, edits.append(document, read, suffix))


def operand_of(node: ast.AST) -> ast.expr | None:
    """What a method is called on, a function is given, or an attribute is set of."""
    match node:
        case ast.Call(func=ast.Attribute(value=value), args=[]) | ast.Attribute(value=value, ctx=ast.Store()):
            return value
        case ast.Call(args=[value, *_]):
            return value
    return None


def rebinding(values: Sequence[tuple[str, Form]], indent: str) -> list[str]:
    """The lines that give each variable its value without a graph; none where one has no such line."""
    written = [_lines(text, form, indent) for text, form in values]
    if not all(written):
        return []
    names = [text for text, _ in values]
    if len(values) > 1 and all(text.isidentifier() and form.kind == "tensor" for text, form in values):
        return [f"{', '.join(names)} = {', '.join(f'{name}.detach()' for name in names)}"]
    return [line for lines in written for line in lines]


def _lines(text: str, form: Form, indent: str) -> list[str]:
    """The lines that take a value out of its graph; none where there is no way."""
    root = text.partition(".")[0].partition("[")[0]
    if form.kind in ("deque", "dict"):
        name = next(each for each in (("key", "name") if form.kind == "dict" else ("index", "number")) if each != root)
        shapes = {_shape(part) for _, part in form.parts}
        item = detached(form.parts[0][1], f"{text}[{name}]", {root, name}) if len(shapes) == 1 else None
        every = text if form.kind == "dict" else f"range(len({text}))"
        return [] if item is None or form.open else [f"for {name} in {every}:", f"{indent}{text}[{name}] = {item}"]
    value = detached(form, text, {root})
    if form.kind == "tensor" and form.tensors[0].is_parameter:
        return [f"{text}.detach_()"]
    if form.kind == "tensor" and isinstance(form.tensors[0].provenance, Presumption):  # As that of an LSTM may be.
        item = "state" if root != "state" else "each"
        several = f"tuple({item}.detach() for {item} in {text})"
        value = f"{several} if isinstance({text}, tuple) else {value}"
    return [] if value is None else [f"{text} = {value}"]


def detached(form: Form, text: str, taken: set[str]) -> str | None:
    """The expression that holds the same values as `text`, without their graphs; None where none is short enough."""
    if form.kind in ("tensor", "detachable"):
        return f"{text}.detach()"
    if form.kind == "record":
        fields = [(name, detached(part, f"{text}.{name}", taken)) for name, part in form.parts]
        changes = ", ".join(f"{name}={value}" for name, value in fields)
        return f"{text}._replace({changes})" if all(value for _, value in fields) else None
    if not form.parts or form.open or len({_shape(part) for _, part in form.parts}) > 1:
        return None
    first = form.parts[0][1]
    choice = ("state", "each") if first.kind in ("tensor", "detachable") else ("states", "group")
    name = next((each for each in choice if each not in taken), "item")
    item = detached(first, name, {*taken, name})
    every = {"tuple": "tuple({0} for {1} in {2})", "list": "[{0} for {1} in {2}]"}
    text_of = every.get(form.kind, "{{key: {0} for key, {1} in {2}.items()}}")
    return None if item is None else text_of.format(item, name, text)


def _shape(form: Form) -> object:
    """What two forms have in common that one expression can detach."""
    return form.kind, tuple({_shape(part) for _, part in form.parts}) if form.kind != "record" else form.parts[0][0]


def form_of(bound: Bound) -> Form:
    """The form of what a binding gave a variable."""
    match bound.value:
        case Held(kind=kind, tensors=tensors, complete=complete, container=container):
            parts = tuple((str(index), Form("tensor", (each,), each)) for index, each in enumerate(tensors))
            return Form(kind, tensors, container, parts, not complete)
    return Form("tensor", tuple(_bound_tensors(bound)), bound.value)
