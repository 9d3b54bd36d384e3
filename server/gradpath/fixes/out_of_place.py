"""Ways to write so that nothing that is needed is overwritten: a new tensor, or a copy, and a write for a new leaf."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from gradpath.autograd.tensor import UNSEEN, Creation, Tensor
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.carrying import Case
from gradpath.findings.cuts import switch_around
from gradpath.findings.definitions import given_to
from gradpath.findings.overwriting import Overwriting
from gradpath.findings.rebinding import rebinding_of
from gradpath.findings.report import Source
from gradpath.findings.stories import name_of
from gradpath.findings.syntax import ancestry, function_of, statement_of
from gradpath.fixes import edits
from gradpath.interpreter.events import Applied, Bound, Built, Failed, Held, Mutated, Site, Stored
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.document import Document
from gradpath.source.imports import worked_on
from gradpath.source.index import holds, inside, variables
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
    node, statement, document = site.node, statement_of(trace, site.node), source.document(site)
    safety = Safety.UNSAFE if written is not None and _is_seen_elsewhere(trace, source, site, written) else Safety.SAFE
    owner, fixes = _owner(trace, source, site), [*_called(trace, source, site, statement, safety)]
    if isinstance(node, ast.AugAssign) and (not isinstance(node.target, ast.Subscript) or owner is node.target):
        edit = augmented(document, node)
        if edit is not None:
            target = edits.flat(document, node.target)
            full = " ".join(edit.new_text.split())
            text = full if len(full) <= 40 else f"{target} = {target} {_operator(document, node.target, node.value)} …"
            yield Fix.by(Repair(Way.NEW_TENSOR, (target,), text=text), safety, (edit,))
    yield from fixes
    inside = saved_at is not None and holds(statement, saved_at.node)
    if not fixes and module_of(trace, site) is None and owner is not None and not inside:
        name = edits.flat(document, owner)
        line = edits.insert_before(document, statement, f"{name} = {name}.clone()")
        alone = line if edits.stands_alone(document, statement) else None
        yield from Fix.of(Repair(Way.WRITE_INTO_COPY, (name,), text=f"{name} = {name}.clone()"), safety, alone)


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


def _called(trace: Trace, source: Source, site: Site, statement: ast.stmt, safety: Safety) -> Iterator[Fix]:
    """`x.add_(1)`, `torch.relu_(x)`, `F.relu(x, inplace=True)`, and `nn.ReLU(inplace=True)` that was made elsewhere."""
    module, document = module_of(trace, site), source.document(site)
    made = site if module is None else module.made
    match None if made is None else made.node, site.node:
        case ast.Call() as call, ast.Call(args=args) if any(each.arg == "inplace" for each in call.keywords) and made:
            repair = Repair(Way.NOT_IN_PLACE) if module is None else Repair(Way.NOT_IN_PLACE_ON, lines=(made.line,))
            drop, written = edits.drop_keyword(source.document(made), call, "inplace"), args[0] if args else None
        case ast.Call(func=ast.Attribute(attr=name)) as call, _ if module is None and has_counterpart(name):
            written, end = worked_on(call, source.names(site.path)), document.range_of(call.func).end
            drop = Edit(document.path, Range(Position(end.line, end.column - 1), end), "")
            repair = Repair(Way.NEW_TENSOR_BY, (name[:-1],))
        case _:
            return
    if module is not None or not any(each is site.node for each in _chain(statement)):
        variable = ast.unparse(written) if isinstance(written, (ast.Name, ast.Attribute)) else ""
        if is_read_again(trace, statement, variable):
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
    written, node = site.node, site.node
    if isinstance(node, ast.AugAssign):
        written = node.target if isinstance(node.target, ast.Subscript) else node
    elif isinstance(node, ast.Call):
        written = worked_on(node, source.names(site.path)) or node if last_name(node.func).endswith("_") else node
    while isinstance(written, ast.Subscript):
        written = written.value
    return written if isinstance(written, (ast.Name, ast.Attribute)) else None


def _owner(trace: Trace, source: Source, site: Site) -> ast.Name | ast.Attribute | ast.Subscript | None:
    """What holds the tensor that is written: the variable, or its item `x[0]` where the variable is a list or dict."""
    base = _base(source, site)
    name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", None)
    bound = (each for each in trace.of(Bound) if each.name == name and isinstance(each.value, Held))
    if not any(isinstance(base, ast.Attribute) or each.site.caller is site.caller for each in bound):
        return base
    return next((each for each in inside(site.node, ast.Subscript) if each.value is base), None)


def module_of(trace: Trace, site: Site) -> Applied | None:
    """The built-in module whose in-place work the write at `site` was."""
    before: Applied | None = None
    for event in trace.events:
        done = event.write.site if isinstance(event, Mutated) else event.site if isinstance(event, Failed) else None
        if done is site:
            return before if before is not None and before.site.node is site.node else None
        before = event if isinstance(event, Applied) else before
    return None


def _is_seen_elsewhere(trace: Trace, source: Source, site: Site, written: Tensor) -> bool:
    """True if the memory that is written was known by another name before, which may be read again: it would be old."""
    own = _base(source, site) or getattr(site.node, "target", None)
    variable = own.id if isinstance(own, ast.Name) else getattr(own, "attr", "")
    running = {frame.caller: statement_of(trace, frame.node) for frame in site.frames()}
    unnamed = written.base is not None and not any(each.tensor is written.base for each in trace.of(Bound))
    if written.base is not None and unnamed and module_of(trace, site) is None:
        made = written.base.origin  # What has no name of its own is found again where it was found.
        if written.base.operation == UNSEEN or not isinstance(made, Site) or made.node is site.node:
            return True
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
                here, statement = event.site.caller is site.caller, running.get(event.site.caller)
                kept = isinstance(target, (ast.Attribute, ast.Call))  # A buffer is registered by a call.
                same = isinstance(target, ast.Attribute) if isinstance(own, ast.Attribute) else here and not kept
                read = statement is not None and not (here and not is_read_again(trace, statement, event.name))
                if (kept or read) and not (event.name == variable and same):
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
    around, function = ancestry(trace, statement)[:-1], function_of(trace, statement)
    roots: Iterable[ast.AST] = (function,) if function is not None else around[:1] or tuple(trace.visits)
    in_loop = any(isinstance(each, (ast.For, ast.While, ast.AsyncFor)) for each in around)
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    found = (each for root in roots for each in variables(root) if isinstance(each.ctx, ast.Load))
    later = (each for each in found if each.lineno > last or (in_loop and each.lineno < first))
    return any(ast.unparse(each) == text for each in later)


def projected(case: Case) -> Iterator[Fix]:
    """`with torch.no_grad(): w.copy_(torch.clamp(w, min=0))` for a parameter that is put through a function.

    Unsafe: the gradient of the iteration that ran before the failure went through the function.
    """
    carried = case.carried[0]
    bound = None if carried.held or carried.bound is None else carried.bound.tensor
    found = None if bound is None else rebinding_of(case.trace, case.source, bound)
    match None if found is None else statement_of(case.trace, found[0].site.node):
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) if found is not None:
            site, name = found[0].site, edits.flat(case.source.document(found[0].site), target)
            yield from updated_in_place(case.trace, case.source, site, name, Safety.UNSAFE, lost=True)


def updated_in_place(
    trace: Trace, source: Source, at: Site, name: str, safety: Safety, *, tracked: bool = False, lost: bool = False
) -> Iterator[Fix]:
    """The update in place: as it stands where gradients are off, unless its result is `tracked`, else without them.

    A `lost` value of any kind is copied.
    """
    statement = statement_of(trace, at.node)
    if not isinstance(statement, ast.Assign):
        return
    document, torch, value = source.document(at), source.called("torch", at.path), statement.value
    if isinstance(value, ast.BinOp) and edits.flat(document, value.left) == name:  # `w = w - lr * w.grad`
        update = f"{name} {_operator(document, value.left, value.right)}= {edits.flat(document, value.right)}"
    elif lost:
        update = f"{name}.copy_({edits.flat(document, value)})"
    else:
        return
    if not tracked and switch_around(trace, source, at) is not None:
        edit: Edit | None = edits.replace(document, statement, update)
    else:
        header = f"with {torch}.no_grad():"
        edit = None if torch is None else edits.wrap(document, statement, header, update)
        update = f"with torch.no_grad(): {update}"
    yield from Fix.of(Repair(Way.UPDATE_IN_PLACE, (name,), text=update), safety, edit)


def saved_copies(trace: Trace, source: Source, found: Overwriting) -> Iterator[Fix]:
    """`.clone()` where the operation saves: of its result, or of what it is given, each place in turn."""
    known = [(each.node.behaviour, each.inputs) for each in trace.of(Built)]
    maybe = [given.get(name, ()) for behaviour, given in known if behaviour for name in behaviour.maybe_saves]
    if any(each.storage is found.saved.storage for tensors in maybe for each in tensors):
        return  # Another operation may have saved the same memory: with one copy the backward would perhaps still fail.
    for site, node in _places(trace, source, found):
        text = edits.followed(source.text(site, node), node, ".clone()")
        repair = Repair(Way.SAVE_COPY, lines=(node.lineno,), text=text if len(text) <= 40 else "")
        yield Fix.by(repair, Safety.SAFE, edits.append(source.document(site), node, ".clone()"))


def _places(trace: Trace, source: Source, found: Overwriting) -> Iterator[tuple[Site, ast.expr]]:
    site, saved, origin = found.saved_at, found.saved.tensor, found.saved.tensor.origin
    if site.node is found.site.node or not isinstance(site.node, ast.expr):
        return
    if found.is_result:
        if not found.node.name.endswith("_"):
            yield site, site.node
        return
    if isinstance(origin.node, ast.expr) and found.written.base is not saved:
        frame = next((each for each in site.frames() if holds(each.node, origin.node)), origin)
        if isinstance(origin.node, ast.Subscript) or (found.written is not saved and origin.node is not site.node):
            yield frame, origin.node
            return
    own = written_name(trace, source, found.site) if found.written is saved else ""
    names = {name_of(trace, source, saved, site), own}
    parts = (each for each in ast.walk(site.node) if isinstance(each, ast.expr))
    reads = [each for each in parts if source.text(site, each) in names - {""}]
    reads = [each for each in reads if not any(other is not each and holds(other, each) for other in reads)]
    if isinstance(site.node, ast.Call) and not reads and saved.is_parameter:
        reads = site.node.args[:1]
    for read in reads if len(reads) == 1 else ():
        around = ancestry(trace, read)
        outer = around[-2] if len(around) > 1 else None
        yield site, outer if isinstance(outer, ast.Subscript) and outer.value is read else read


def copied(trace: Trace, source: Source, site: Site) -> Iterator[Fix]:
    """A copy where the alias is made, and wherever else the function gives the same variable the same alias."""
    node, document = site.node, source.document(site)
    if not isinstance(node, ast.expr):
        return
    text, targets = edits.flat(document, node), getattr(statement_of(trace, node), "targets", ())
    parts = [part for each in targets for part in ast.walk(each) if isinstance(part, (ast.Name, ast.Attribute))]
    given = [each for part in parts for each in given_to(trace, ast.unparse(part))]
    here = [each for each in given if function_of(trace, each) is function_of(trace, node)]
    places = [each for each in here if ast.dump(each) == ast.dump(node)] or [node]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "state_dict":
        text = f"{{name: value.clone() for name, value in {text}.items()}}"
        changes = [edits.replace(document, each, text) for each in places]
    else:
        text = edits.followed(text, node, ".clone()")
        changes = [edit for each in places for edit in edits.append(document, each, ".clone()")]
    yield Fix.by(Repair(Way.USE_COPY, text=text), Safety.UNSAFE, tuple(changes))
