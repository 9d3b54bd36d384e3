"""Ways to write an in-place operation so that nothing is overwritten, read off the syntax of the write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradpath.autograd.tensor import Creation, Tensor
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.interpreter.trace import Applied, Bound, Held, Mutated, Site, Stored, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.report import Source
from gradpath.rules.syntax import Definition, ancestry, function_of, is_alone, statement_of
from gradpath.source.document import Document
from gradpath.source.index import holds

NO_COUNTERPART = frozenset(
    {
        "bernoulli_",
        "cauchy_",
        "copy_",
        "exponential_",
        "fill_",
        "fill_diagonal_",
        "geometric_",
        "log_normal_",
        "normal_",
        "random_",
        "resize_",
        "set_",
        "uniform_",
        "zero_",
    }
)
"""In-place methods for which no method of the same name without the underscore exists, or does something else."""

_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_TIGHT = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult, ast.Pow)


def counterparts(
    trace: Trace, source: Source, site: Site, written: Tensor | None, saved_at: Site | None = None
) -> Iterator[Fix]:
    """The fixes for the write at `site`, best first; the first is preferred where it is safe.

    `saved_at` is where the old value was saved: a copy ahead of the statement is of no use if that was in it.
    """
    statement = statement_of(trace, site.node)
    document = source.document(site)
    if statement is None:
        return
    safety = Safety.UNSAFE if written is not None and is_seen_elsewhere(trace, site, written) else Safety.SAFE
    node = site.node
    made = module_of(trace, site)
    if made is not None:
        first = node.args[0] if isinstance(node, ast.Call) and node.args else None
        yield from _without_flag(source, made, Safety.UNSAFE if _is_read_again(trace, statement, first) else safety)
        return
    owner = _owner(trace, site, node)
    if isinstance(node, ast.AugAssign) and (not isinstance(node.target, ast.Subscript) or owner is node.target):
        edit = augmented(document, node)
        if edit is not None:
            target = edits.flat(document, node.target)
            full = " ".join(edit.new_text.split())
            text = full if len(full) <= 40 else f"{target} = {target} {_OPERATORS[type(node.op)]} …"
            yield Fix.by(Repair(Way.NEW_TENSOR, (target,), text=text), safety, (edit,), preferred=True)
    elif isinstance(node, ast.Call):
        fixes = list(_called(trace, document, node, statement, safety))
        yield from fixes
        if fixes:
            return
    base = None if isinstance(owner, ast.Attribute) and _is_field(trace, owner.attr) else owner
    inside = saved_at is not None and holds(statement, saved_at.node)
    if base is not None and not inside and edits.stands_alone(document, statement):
        name = edits.flat(document, base)
        line = edits.insert_before(document, statement, f"{name} = {name}.clone()")
        if line is not None:
            repair = Repair(Way.WRITE_INTO_COPY, (name,), text=f"{name} = {name}.clone()")
            yield Fix.by(repair, safety, (line,), preferred=True)


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
    owner = _owner(trace, site, node)
    return source.text(site, owner) if owner is not None else ""


def augmented(document: Document, node: ast.AugAssign) -> Edit | None:
    """`x += y` as `x = x + y`, with parentheses where the order of evaluation asks for them."""
    place = document.range_of(node)
    start, end = document.offset(document.range_of(node.target).end), document.offset(place.end)
    operator = _OPERATORS[type(node.op)]
    found = re.match(rf"\s*{re.escape(operator)}=\s*", document.text[start:end])
    if found is None:
        return None
    target = document.slice(document.range_of(node.target))
    right = document.text[start + found.end() : end]
    bare = document.offset(document.range_of(node.value).start) == start + found.end()
    if bare and _needs_parentheses(node):
        right = f"({right})"
    return Edit(document.path, place, f"{target} = {target} {operator} {right}")


def _needs_parentheses(node: ast.AugAssign) -> bool:
    match node.value:
        case ast.BinOp():
            return not (isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.value.op, _TIGHT))
        case ast.UnaryOp():
            return isinstance(node.op, ast.Pow) or isinstance(node.value.op, ast.Not)
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() | ast.Constant() | ast.List() | ast.Dict():
            return False
        case _:
            return True


def _called(trace: Trace, document: Document, call: ast.Call, statement: ast.stmt, safety: Safety) -> Iterator[Fix]:
    """`x.add_(1)`, `torch.relu_(x)`, `F.relu(x, inplace=True)`."""
    if any(each.arg == "inplace" for each in call.keywords):
        edit = edits.drop_keyword(document, call, "inplace")
        first = call.args[0] if call.args else None
        assigned = _assigned(document, call, statement, first)
        if edit is not None and assigned is not None:
            if not is_alone(statement, call) and _is_read_again(trace, statement, first):
                safety = Safety.UNSAFE
            yield Fix.by(Repair(Way.NOT_IN_PLACE), safety, (*assigned, edit), preferred=True)
        return
    if not isinstance(call.func, ast.Attribute):
        return
    name = call.func.attr
    if not name.endswith("_") or name.endswith("__") or name in NO_COUNTERPART or name in ("detach_", "requires_grad_"):
        return
    receiver: ast.expr | None = call.func.value
    if isinstance(receiver, ast.Name) and receiver.id in ("torch", "F"):
        receiver = call.args[0] if call.args else None
    assigned = _assigned(document, call, statement, receiver)
    if assigned is None:
        return
    end = document.range_of(call.func).end
    drop = Edit(document.path, Range(Position(end.line, end.column - 1), end), "")
    if not any(each is call for each in _chain(statement)) and _is_read_again(trace, statement, receiver):
        safety = Safety.UNSAFE
    yield Fix.by(Repair(Way.NEW_TENSOR_BY, (name[:-1],)), safety, (*assigned, drop), preferred=True)


def _assigned(
    document: Document, call: ast.Call, statement: ast.stmt, written: ast.expr | None
) -> tuple[Edit, ...] | None:
    """What binds the new tensor to the old name, where the call is a whole statement; None where that has no name."""
    if not any(each is call for each in _chain(statement)):
        return ()
    if not isinstance(written, (ast.Name, ast.Attribute)):
        return None
    start = document.range_of(statement).start
    return (Edit(document.path, Range(start, start), f"{edits.flat(document, written)} = "),)


def _chain(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement that is nothing but a chain of them: `x.mul_(2).add_(1)`."""
    node: ast.expr | None = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(node, ast.Call):
        yield node
        node = node.func.value if isinstance(node.func, ast.Attribute) else None


def _base(node: ast.AST) -> ast.Name | ast.Attribute | None:
    """The variable that a write goes into: `x` of `x[i] = v`, `x[i] += v`, `x.zero_()`, `x[i].add_(v)`."""
    written: ast.AST | None = node
    if isinstance(node, ast.AugAssign):
        written = node.target
        if not isinstance(written, ast.Subscript):
            return None
    elif isinstance(node, ast.Call):
        method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") else None
        written = method.value if method is not None else None
        if isinstance(written, ast.Name) and written.id in ("torch", "F"):
            written = node.args[0] if node.args else None
    while isinstance(written, ast.Subscript):
        written = written.value
    return written if isinstance(written, (ast.Name, ast.Attribute)) else None


def _owner(trace: Trace, site: Site, node: ast.AST) -> ast.Name | ast.Attribute | ast.Subscript | None:
    """What holds the tensor that is written: the variable, or its item `x[0]` where the variable is a list or dict."""
    base = _base(node)
    if base is None or not _is_container(trace, site, base):
        return base
    items = [each for each in ast.walk(node) if isinstance(each, ast.Subscript) and each.value is base]
    simple = items and isinstance(items[0].slice, (ast.Constant, ast.Name))
    return items[0] if simple else None


def _is_field(trace: Trace, name: str) -> bool:
    """Whether a class of the program is a named tuple with a field of that name, which cannot be assigned."""
    return any(
        isinstance(each, ast.ClassDef)
        and any(ast.unparse(base).endswith("NamedTuple") for base in each.bases)
        and any(isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == name for part in each.body)
        for each in trace.visits
    )


def _is_container(trace: Trace, site: Site, variable: ast.Name | ast.Attribute) -> bool:
    """Whether a variable was bound to a list, a dict or the like where it was bound last."""
    last = _last_binding(trace, site, variable)
    if last is not None:
        return isinstance(last.value, Held)
    name = ast.unparse(variable)
    for statement in reversed(trace.visits):
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if (
                ast.unparse(target) == name and statement.lineno < site.line
            ):
                return isinstance(value, (ast.Dict, ast.List, ast.Tuple, ast.ListComp, ast.DictComp))
    return False


def _last_binding(trace: Trace, site: Site, variable: ast.Name | ast.Attribute) -> Bound | None:
    """Where a variable got what it holds at the write at `site`, if that was a tensor or has tensors in it."""
    name = variable.id if isinstance(variable, ast.Name) else variable.attr
    last: Bound | None = None
    for event in trace.events:
        if isinstance(event, Mutated) and event.write.site is site:
            break
        own = isinstance(variable, ast.Attribute) or getattr(event, "site", site).caller is site.caller
        if isinstance(event, Bound) and event.name == name and own:
            last = event
    return last


def module_of(trace: Trace, site: Site) -> Applied | None:
    """The built-in module whose in-place work the write at `site` was."""
    before: Applied | None = None
    for event in trace.events:
        if isinstance(event, Applied):
            before = event
        elif isinstance(event, Mutated) and event.write.site is site:
            return (
                before
                if before is not None and before.site.node is site.node and before.name == event.write.operation
                else None
            )
    return None


def _without_flag(source: Source, applied: Applied, safety: Safety) -> Iterator[Fix]:
    made = applied.made
    if made is None or not isinstance(made.node, ast.Call):
        return
    edit = edits.drop_keyword(source.document(made), made.node, "inplace")
    if edit is not None:
        yield Fix.by(Repair(Way.NOT_IN_PLACE_ON, lines=(made.line,)), safety, (edit,), preferred=True)


def is_seen_elsewhere(trace: Trace, site: Site, written: Tensor) -> bool:
    """Whether the memory that is written was known under another name before: a view, a second variable, a list."""
    own = _base(site.node) or getattr(site.node, "target", None)
    variable = own.id if isinstance(own, ast.Name) else getattr(own, "attr", "")
    names: dict[str, Tensor | None] = {}
    for event in trace.events:
        if isinstance(event, Mutated) and event.write.site is site:
            break
        if isinstance(event, Stored) and event.tensor is not None and event.tensor.storage is written.storage:
            return True
        if not isinstance(event, Bound):
            continue
        values = event.value.tensors if isinstance(event.value, Held) else (event.tensor,)
        if not any(each is not None and each.storage is written.storage for each in values):
            continue
        if event.site.caller is not site.caller:
            raises = written.creation is Creation.MULTIPLE
            if _is_set_anew(trace, own, event):
                continue
            if _is_read_by_caller(trace, site, event, raises=raises) or (event.name == variable and not raises):
                return True
            continue  # Its body has ended, or does not look at it again.
        names[event.name] = event.tensor
    mine = names.pop(variable, None)
    others = [name for name, tensor in names.items() if tensor is None or mine is None or not _is_sibling(tensor, mine)]
    statement = statement_of(trace, site.node)
    return statement is None or any(_is_read_again(trace, statement, _loaded(name)) for name in others)


def _is_set_anew(trace: Trace, written: ast.AST | None, bound: Bound) -> bool:
    """Whether a binding gave the written attribute something newly made: it is the attribute itself, no other name."""
    statement = statement_of(trace, bound.site.node)
    match written, statement:
        case ast.Attribute(attr=name), ast.Assign(targets=[ast.Attribute(attr=set_to)], value=ast.Call() | ast.BinOp()):
            return name == set_to == bound.name
        case ast.Attribute(attr=name), ast.AugAssign(target=ast.Attribute(attr=set_to)):
            return name == set_to == bound.name
        case _:
            return False


def _is_read_by_caller(trace: Trace, site: Site, bound: Bound, *, raises: bool) -> bool:
    """Whether what another body has bound may be read again: an attribute, or a variable of one that is waiting.

    Where the write `raises` itself, only the rest of the waiting body counts: nobody has seen its effect so far.
    """
    if isinstance(bound.site.node, ast.Attribute) or isinstance(
        getattr(bound.site.node, "target", None), ast.Attribute
    ):
        return True
    function = function_of(trace, bound.site.node)
    if function is not None and _lives_on(function):
        return True
    frame = next((each for each in site.frames() if each.caller is bound.site.caller), None)
    if frame is None:
        return False
    statement = statement_of(trace, frame.node)
    return not raises or (statement is not None and _is_read_again(trace, statement, _loaded(bound.name)))


_LIVES_ON = (ast.Yield, ast.YieldFrom, ast.Await, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _lives_on(function: Definition) -> bool:
    """Whether the variables of a function may outlive its call, or wait in it."""
    return any(isinstance(each, _LIVES_ON) for statement in function.body for each in ast.walk(statement))


def _loaded(name: str) -> ast.expr:
    """The expression that reads a variable; a dotted name is an attribute."""
    expression: ast.expr = ast.parse(name, mode="eval").body
    return expression


def _is_sibling(tensor: Tensor, written: Tensor) -> bool:
    """Whether both are views that one `chunk`, `split` or `unbind` gave: they never overlap."""
    both = tensor.creation is Creation.MULTIPLE and written.creation is Creation.MULTIPLE
    one, other = tensor.origin, written.origin
    if not isinstance(one, Site) or not isinstance(other, Site):
        return False
    same = one.node is other.node and one.caller is other.caller and one.loops == other.loops
    return tensor is not written and both and same


def _is_read_again(trace: Trace, statement: ast.stmt, written: ast.expr | None) -> bool:
    """True if the function reads the written variable again before it is bound again, as far as the syntax tells."""
    if not isinstance(written, (ast.Name, ast.Attribute)):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    wanted = ast.dump(written)
    if any(_dump_loaded(target) == wanted for target in targets):
        return False
    around = ancestry(trace, statement)[:-1]
    inner = [each for each in around if not isinstance(each, ast.ClassDef)]
    body: list[ast.AST] = [inner[0]] if inner else list(trace.visits)
    for function in inner:
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = [function]
    in_loop = any(isinstance(each, (ast.For, ast.While, ast.AsyncFor)) for each in inner)
    last = statement.end_lineno or statement.lineno
    for root in body:
        for each in ast.walk(root):
            if not isinstance(each, type(written)) or statement.lineno <= each.lineno <= last:
                continue
            if (in_loop or each.lineno > last) and ast.dump(each) == wanted:
                return True
    return False


def _dump_loaded(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return ast.dump(ast.Name(target.id, ast.Load()))
    if isinstance(target, ast.Attribute):
        return ast.dump(ast.Attribute(target.value, target.attr, ast.Load()))
    return ""
