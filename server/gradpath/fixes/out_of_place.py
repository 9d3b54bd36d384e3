"""Ways to write so that nothing that is needed is overwritten: a new tensor for a write, and a write for a new leaf."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from gradpath.autograd.tensor import Creation, Tensor
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.cuts import switch_around
from gradpath.findings.rebinding import rebinding_of
from gradpath.findings.report import Source
from gradpath.findings.syntax import ancestry, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Applied, Bound, Failed, Held, Mutated, Site, Stored
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.imports import worked_on
from gradpath.source.index import holds, inside
from gradpath.source.nodes import last_name
from gradpath.support.words import words

_NO_COUNTERPART = words(
    "bernoulli_ cauchy_ copy_ detach_ exponential_ fill_ fill_diagonal_ geometric_ log_normal_ normal_ random_"
    " requires_grad_ resize_ set_ uniform_ zero_"
)
"""In-place methods for which no method of the same name without the underscore exists, or does something else."""


def has_counterpart(method: str) -> bool:
    """True if an in-place method has one that gives the same as a new tensor, without the underscore."""
    return method.endswith("_") and method not in _NO_COUNTERPART


def counterparts(
    trace: Trace, source: Source, site: Site, written: Tensor | None, saved_at: Site | None = None
) -> Iterator[Fix]:
    """The fixes for the write at `site`, best first; the first is preferred where it is safe.

    `saved_at` is where the old value was saved: a copy ahead of the statement is of no use if that was in it.
    """
    statement = statement_of(trace, site.node)
    document = source.document(site)
    safety = Safety.UNSAFE if written is not None and _is_seen_elsewhere(trace, source, site, written) else Safety.SAFE
    node = site.node
    made = module_of(trace, site)
    if made is not None:
        first = node.args[0] if isinstance(node, ast.Call) and node.args else None
        yield from _without_flag(
            source, made, Safety.UNSAFE if is_read_again(trace, statement, _text(first)) else safety
        )
        return
    owner = _owner(trace, source, site)
    if isinstance(node, ast.AugAssign) and (not isinstance(node.target, ast.Subscript) or owner is node.target):
        edit = augmented(document, node)
        if edit is not None:
            target = edits.flat(document, node.target)
            full = " ".join(edit.new_text.split())
            text = full if len(full) <= 40 else f"{target} = {target} {_operator(document, node.target, node.value)} …"
            yield Fix.by(Repair(Way.NEW_TENSOR, (target,), text=text), safety, (edit,))
    elif isinstance(node, ast.Call):
        fixes = list(_called(trace, source, site, node, statement, safety))
        yield from fixes
        if fixes:
            return
    inside = saved_at is not None and holds(statement, saved_at.node)
    if owner is not None and not inside and edits.stands_alone(document, statement):
        name = edits.flat(document, owner)
        line = edits.insert_before(document, statement, f"{name} = {name}.clone()")
        yield from Fix.of(Repair(Way.WRITE_INTO_COPY, (name,), text=f"{name} = {name}.clone()"), safety, line)


def write_text(trace: Trace, source: Source, site: Site, limit: int) -> str:
    """The write as the program has it: `x[i] = v` where the site is only the target."""
    made = module_of(trace, site)
    if made is not None and made.made is not None:
        return source.short(made.made, limit=limit)
    if isinstance(site.node, ast.Subscript):
        statement = statement_of(trace, site.node)
        if isinstance(statement, ast.Assign) and len(source.text(site, statement)) <= limit:
            return source.text(site, statement)
        return f"{source.short(site, limit=limit - 4)} = …"
    return source.short(site, limit=limit)


def written_name(trace: Trace, source: Source, site: Site) -> str:
    """The variable that is written, or its item, as the program has it; empty where the write goes into neither."""
    node = site.node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, (ast.Name, ast.Attribute)):
        return source.text(site, node.target)
    owner = _owner(trace, source, site)
    return source.text(site, owner) if owner is not None else ""


def augmented(document: Document, node: ast.AugAssign) -> Edit | None:
    """`x += y` as `x = x + y`, with parentheses where the order of evaluation asks for them."""
    target, operator = document.slice(document.range_of(node.target)), _operator(document, node.target, node.value)
    text = document.slice(document.range_of(node))
    found = re.match(rf"\s*{re.escape(operator)}=\s*", text[len(target) :])
    if found is None:
        return None
    right = text[len(target) + found.end() :]
    whole = ast.parse(f"({target} {operator} {right})", mode="eval").body
    if not isinstance(whole, ast.BinOp) or ast.dump(whole.right) != ast.dump(node.value):
        right = f"({right})"
    return edits.replace(document, node, f"{target} = {target} {operator} {right}")


def _operator(document: Document, left: ast.expr, right: ast.expr) -> str:
    """What is written between two operands, without the `=` of an assignment."""
    between = document.slice(Range(document.range_of(left).end, document.range_of(right).start))
    return re.sub(r"#.*|[\s()=\\]", "", between)


def _called(
    trace: Trace, source: Source, site: Site, call: ast.Call, statement: ast.stmt, safety: Safety
) -> Iterator[Fix]:
    """`x.add_(1)`, `torch.relu_(x)`, `F.relu(x, inplace=True)`."""
    document = source.document(site)
    written = call.args[0] if call.args else None
    if any(each.arg == "inplace" for each in call.keywords):
        repair, drop = Repair(Way.NOT_IN_PLACE), edits.drop_keyword(document, call, "inplace")
    elif isinstance(call.func, ast.Attribute) and has_counterpart(call.func.attr):
        written = worked_on(call, source.names(site.path))
        end = document.range_of(call.func).end
        drop = Edit(document.path, Range(Position(end.line, end.column - 1), end), "")
        repair = Repair(Way.NEW_TENSOR_BY, (call.func.attr[:-1],))
    else:
        return
    if not any(each is call for each in _chain(statement)):
        if is_read_again(trace, statement, _text(written)):
            safety = Safety.UNSAFE
        yield from Fix.of(repair, safety, drop)
    elif isinstance(written, (ast.Name, ast.Attribute)):
        start = document.range_of(statement).start
        bound = Edit(document.path, Range(start, start), f"{edits.flat(document, written)} = ")
        yield from Fix.of(repair, safety, bound, drop)


def _chain(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement that is nothing but a chain of them: `x.mul_(2).add_(1)`."""
    node: ast.expr | None = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(node, ast.Call):
        yield node
        node = node.func.value if isinstance(node.func, ast.Attribute) else None


def _base(source: Source, site: Site) -> ast.Name | ast.Attribute | None:
    """The variable that a write goes into: `x` of `x[i] = v`, `x[i] += v`, `x.zero_()`, `x[i].add_(v)`."""
    written: ast.AST | None = site.node
    node = site.node
    if isinstance(node, ast.AugAssign):
        written = node.target
        if not isinstance(written, ast.Subscript):
            return None
    elif isinstance(node, ast.Call):
        in_place = last_name(node.func).endswith("_")
        written = worked_on(node, source.names(site.path)) if in_place else None
    while isinstance(written, ast.Subscript):
        written = written.value
    return written if isinstance(written, (ast.Name, ast.Attribute)) else None


def _owner(trace: Trace, source: Source, site: Site) -> ast.Name | ast.Attribute | ast.Subscript | None:
    """What holds the tensor that is written: the variable, or its item `x[0]` where the variable is a list or dict."""
    base = _base(source, site)
    if base is None or not _is_container(trace, site, base):
        return base
    return next((each for each in inside(site.node, ast.Subscript) if each.value is base), None)


def _is_container(trace: Trace, site: Site, variable: ast.Name | ast.Attribute) -> bool:
    """True if a variable was bound to a list, a dict or the like."""
    name = variable.id if isinstance(variable, ast.Name) else variable.attr
    bound = (each for each in trace.of(Bound) if each.name == name and isinstance(each.value, Held))
    return any(isinstance(variable, ast.Attribute) or each.site.caller is site.caller for each in bound)


def module_of(trace: Trace, site: Site) -> Applied | None:
    """The built-in module whose in-place work the write at `site` was."""
    before: Applied | None = None
    for event in trace.events:
        match event:
            case Applied():
                before = event
            case Mutated(write=done) if done.site is site:
                break
            case Failed(site=failed) if failed is site:
                break
    else:
        return None
    return before if before is not None and before.site.node is site.node else None


def _without_flag(source: Source, applied: Applied, safety: Safety) -> Iterator[Fix]:
    made = applied.made
    if made is None or not isinstance(made.node, ast.Call):
        return
    edit = edits.drop_keyword(source.document(made), made.node, "inplace")
    yield from Fix.of(Repair(Way.NOT_IN_PLACE_ON, lines=(made.line,)), safety, edit)


def _is_seen_elsewhere(trace: Trace, source: Source, site: Site, written: Tensor) -> bool:
    """True if the memory that is written was known by another name before, which may be read again: it would be old."""
    own = _base(source, site) or getattr(site.node, "target", None)
    variable = own.id if isinstance(own, ast.Name) else getattr(own, "attr", "")
    running = {frame.caller: statement_of(trace, frame.node) for frame in site.frames()}
    for event in trace.events:
        match event:
            case Mutated() if event.write.site is site:
                return False
            case Stored(tensor=Tensor(storage=storage)) if storage is written.storage:
                return True
            case Bound(value=value) if any(
                each is not None and each.storage is written.storage and not _is_sibling(each, written)
                for each in (value.tensors if isinstance(value, Held) else (event.tensor,))
            ):
                target = getattr(event.site.node, "target", event.site.node)
                is_attribute = isinstance(target, (ast.Attribute, ast.Call))  # A buffer is registered by a call.
                statement = running.get(event.site.caller)
                here = event.site.caller is site.caller
                same = (
                    isinstance(target, ast.Attribute) if isinstance(own, ast.Attribute) else here and not is_attribute
                )
                if event.name == variable and same:
                    continue
                waits = statement is not None and not here  # With what it had before the write.
                if is_attribute or waits or (here and is_read_again(trace, running[site.caller], event.name)):
                    return True
    return False


def _is_sibling(tensor: Tensor, written: Tensor) -> bool:
    """True if both are views that one `chunk`, `split` or `unbind` gave: they never overlap."""
    one, other, made = tensor.origin, written.origin, Creation.MULTIPLE
    same = one.node is other.node and one.caller is other.caller and one.loops == other.loops
    return tensor is not written and same and tensor.creation is written.creation is made


def is_read_again(trace: Trace, statement: ast.stmt, text: str) -> bool:
    """True if the function reads a variable again before it is bound again, as far as the syntax tells."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if not text or any(ast.unparse(target) == text for target in targets):
        return False
    around = ancestry(trace, statement)[:-1]
    function = function_of(trace, statement)
    roots: Iterable[ast.AST] = (function,) if function is not None else around[:1] or tuple(trace.visits)
    in_loop = any(isinstance(each, (ast.For, ast.While, ast.AsyncFor)) for each in around)
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    return any(
        isinstance(each, (ast.Name, ast.Attribute))
        and isinstance(each.ctx, ast.Load)
        and (each.lineno > last or (in_loop and each.lineno < first))
        and ast.unparse(each) == text
        for root in roots
        for each in ast.walk(root)
    )


def _text(written: ast.expr | None) -> str:
    """The variable that is written; empty where it is none."""
    return ast.unparse(written) if isinstance(written, (ast.Name, ast.Attribute)) else ""


def projected(case: Case) -> Iterator[Fix]:
    """`with torch.no_grad(): w.copy_(torch.clamp(w, min=0))` for a parameter that is put through a function.

    Unsafe: the gradient of the iteration that ran before the failure went through the function.
    """
    bound = case.carried[0].bound
    if bound is None or bound.tensor is None or case.carried[0].held is not None:
        return
    found = rebinding_of(case.trace, case.source, bound.tensor)
    statement = None if found is None else statement_of(case.trace, found[0].site.node)
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) if found is not None:
            site, name = found[0].site, edits.flat(case.source.document(found[0].site), target)
            yield from updated_in_place(case.trace, case.source, site, statement, name, Safety.UNSAFE, lost=True)


def updated_in_place(
    trace: Trace,
    source: Source,
    at: Site,
    statement: ast.Assign,
    name: str,
    safety: Safety,
    *,
    tracked: bool = False,
    lost: bool = False,
) -> Iterator[Fix]:
    """The update in place: as it stands where gradients are off, unless its result is `tracked`, else without them.

    A `lost` value of any kind is copied.
    """
    document = source.document(at)
    update = _in_place(document, statement, name)
    if update is None and lost:
        update = f"{name}.copy_({edits.flat(document, statement.value)})"
    if update is None:
        return
    if not tracked and switch_around(trace, source, at) is not None:
        direct = edits.replace(document, statement, update)
        yield Fix.by(Repair(Way.UPDATE_IN_PLACE, (name,), text=update), safety, (direct,))
        return
    torch = source.called("torch", document.path)
    if torch is not None and edits.stands_alone(document, statement):
        edit = edits.wrap(document, statement, f"with {torch}.no_grad():")
        if edit is not None:
            old = document.slice(document.range_of(statement))
            edit = Edit(edit.path, edit.range, edit.new_text.replace(old, update, 1))
            repair = Repair(Way.UPDATE_IN_PLACE, (name,), text=f"with torch.no_grad(): {update}")
            yield Fix.by(repair, safety, (edit,))


def _in_place(document: Document, statement: ast.Assign, name: str) -> str | None:
    """`w = w - lr * w.grad` as `w -= lr * w.grad`."""
    value = statement.value
    if not isinstance(value, ast.BinOp) or edits.flat(document, value.left) != name:
        return None
    return f"{name} {_operator(document, value.left, value.right)}= {edits.flat(document, value.right)}"
