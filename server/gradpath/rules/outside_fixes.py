"""A loss that was computed outside of PyTorch, by numbers or by NumPy: the same on the tensors themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradpath.autograd.tensor import Tensor
from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.interpreter.trace import Bound, Mixed, ReadOut, Site, Stored, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.cuts import Cause
from gradpath.rules.origins import expressions_behind, feeding, is_read_out
from gradpath.rules.report import Source
from gradpath.rules.syntax import statement_of
from gradpath.source.document import Document
from gradpath.source.index import holds, names_in, stored_names

_MAKERS = frozenset({"tensor", "as_tensor", "from_numpy", "FloatTensor", "Tensor"})
"""Functions of `torch` that make a tensor of numbers."""

_MOST_READS = 4
"""Places where a number is read out that one fix changes."""


def on_tensors(trace: Trace, source: Source, cause: Cause) -> Iterator[Fix]:
    """The fixes for a tensor that was made of numbers which other tensors gave."""
    site = cause.site if cause.site is not None else _from_numpy(cause.tensor)
    if site is None or not isinstance(site.node, ast.Call):
        return
    call, document = site.node, source.document(site)
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _MAKERS or len(call.args) != 1:
        return
    if any(each.arg not in ("dtype", "device", "requires_grad") for each in call.keywords):
        return
    behind = expressions_behind(trace, document, call.args[0])
    if cause.how in ("numpy", "plain"):
        yield from _translated(trace, document, call, behind, edits.flat(document, call.func.value))
    elif cause.how in ("item", "float", "torch.tensor"):
        yield from _not_read_out(trace, document, call, behind)


def on_tensors_read(trace: Trace, source: Source, cut: Site, added: Site) -> Iterator[Fix]:
    """`float(np.sum(x.numpy()))` becomes `torch.sum(x)`: a number that is `added` to a loss; `cut` is `x.numpy()`."""
    document = source.document(added)
    torch = edits.torch_in(document)
    if torch is None or not isinstance(added.node, ast.expr):
        return
    for expression in expressions_behind(trace, document, added.node):
        for call in ast.walk(expression):
            match call:
                case ast.Call(func=ast.Name(id="float"), args=[value]):
                    behind = expressions_behind(trace, document, value)
                    if any(holds(each, cut.node) for each in behind):
                        yield from _translated(trace, document, call, behind, torch)
                        return


def _from_numpy(root: Tensor) -> Site | None:
    """Where an array became a tensor that `root` was computed from."""
    made = (each.origin for each in (root, *root.ancestors()) if each.operation == "numpy")
    return next((each for each in made if isinstance(each, Site)), None)


def _not_read_out(trace: Trace, document: Document, call: ast.Call, behind: Sequence[ast.expr]) -> Iterator[Fix]:
    """`torch.tensor(losses)` becomes `torch.stack(losses)`, and `.item()` goes wherever the list is filled."""
    known = {id(read.site.node): read.tensor for read in _reads(trace)}
    reads: dict[int, ast.Call] = {}
    for expression in behind:
        for each in feeding(expression):
            if isinstance(each, ast.Call) and is_read_out(each) and _needs_graph(known.get(id(each))):
                reads[id(each)] = each
    tensors = [known[key] for key in reads if key in known]
    taken = _gathered(trace, document, call, joins="cat" if _have_one_dimension(tensors) else "stack")
    if not 0 < len(reads) <= _MOST_READS or taken is None:
        return
    if any(isinstance(each.func, ast.Attribute) and each.func.attr == "tolist" for each in reads.values()):
        return  # A list of numbers is no tensor to those who read it.
    dropped = [edits.drop_method(document, each) for each in reads.values()]
    changes = [*(each for each in dropped if each is not None), *taken]
    lines = sorted({each.lineno for each in reads.values()})
    repair = Repair(Way.WITHOUT_READING, lines=tuple(lines))
    yield Fix.by(repair, Safety.SAFE, tuple(changes), preferred=True)


def _reads(trace: Trace) -> Iterator[ReadOut]:
    """The numbers of which it is known from what tensor they were read."""
    for event in trace.events:
        match event:
            case Mixed():
                yield event.read
            case Bound(value=ReadOut() as bound):
                yield bound
            case Stored() if isinstance(stored := getattr(event.value, "read", None), ReadOut):
                yield stored


def _needs_graph(tensor: Tensor | None) -> bool:
    return tensor is None or tensor.requires_grad


def _have_one_dimension(tensors: Sequence[Tensor]) -> bool:
    return bool(tensors) and all(each.shape is not None and len(each.shape) == 1 for each in tensors)


def _gathered(trace: Trace, document: Document, call: ast.Call, *, joins: str) -> tuple[Edit, ...] | None:
    """What makes `torch.tensor(x)` take tensors: a list is joined, a number is what it is."""
    value, function = call.args[0], call.func
    if not isinstance(function, ast.Attribute):
        return None
    if _is_list(trace, value):
        name = document.range_of(function).end
        start = Position(name.line, name.column - len(function.attr))
        return Edit(document.path, Range(start, name), joins), *_closed(document, call, keeps=True)
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Call)):
        return _unwrapped(trace, document, call)
    return None


def _is_list(trace: Trace, value: ast.expr) -> bool:
    """Whether an expression is a list, as far as the syntax of what ran tells: it is written as one, or appended to."""
    if isinstance(value, (ast.List, ast.ListComp)):
        return True
    if not isinstance(value, (ast.Name, ast.Attribute)):
        return False
    name = ast.unparse(value)
    return any(
        _appends(each, name)
        or any(
            isinstance(made, (ast.List, ast.ListComp)) and ast.unparse(target) == name
            for target, made in _bindings_of(each)
        )
        for each in trace.visits
    )


def _appends(statement: ast.AST, name: str) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "extend", value=owner))):
            return ast.unparse(owner) == name
        case _:
            return False


def _bindings_of(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of a statement with what each gets, one by one in `a, b = [], []`."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            yield from zip(targets, values, strict=True)
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value
        case _:
            pass


def _unwrapped(trace: Trace, document: Document, call: ast.Call) -> tuple[Edit, ...]:
    """`torch.tensor(x)` becomes `x`, in parentheses where something follows that needs them."""
    value = call.args[0]
    statement = statement_of(trace, call)
    whole = isinstance(statement, (ast.Assign, ast.Return, ast.AnnAssign)) and statement.value is call
    start, inner = document.range_of(call).start, document.range_of(value).start
    if isinstance(value, edits.ATOMS) or whole:
        return Edit(document.path, Range(start, inner), ""), *_closed(document, call, keeps=False)
    end = document.range_of(call.func).end
    return Edit(document.path, Range(start, end), ""), *_closed(document, call, keeps=True)


def _closed(document: Document, call: ast.Call, *, keeps: bool) -> tuple[Edit, ...]:
    """The end of a call with one argument, without its keywords and, unless it `keeps` it, its parenthesis."""
    end = document.range_of(call).end
    last = document.range_of(call.args[0]).end
    if keeps:
        end = Position(end.line, end.column - 1)
    return () if last == end else (Edit(document.path, Range(last, end), ""),)


_SAME = frozenset(
    {"abs", "add", "clip", "cos", "cosh", "divide", "exp", "expm1", "log", "log10", "log1p", "log2", "matmul", "mean"}
    | {"multiply", "prod", "sign", "sin", "sinh", "sqrt", "square", "stack", "subtract", "sum", "tan", "tanh", "where"}
)
"""Functions of NumPy that PyTorch has by the same name, for the same arguments."""

_RENAMED = {"absolute": "abs", "concatenate": "cat", "power": "pow"}
_SPREADS = frozenset({"std", "var"})
"""Functions that divide by the count in NumPy, by one less in PyTorch unless it is told."""

_FILLED = frozenset({"zeros", "ones"})
"""Functions that make an array which is filled item by item."""

_CONVERSIONS = frozenset({"detach", "cpu", "data"})


def _translated(
    trace: Trace, document: Document, call: ast.Call, behind: Sequence[ast.expr], torch: str
) -> Iterator[Fix]:
    """`np.mean(x)` becomes `torch.mean(x)`, and the tensors are taken as they are: without `.detach().numpy()`."""
    translation = _Translation(trace, document, torch)
    if is_used_by_numpy(trace, behind):
        return
    if all(translation.takes(each) for each in behind) and translation.arrays:
        changes = [*translation.changes, *_unwrapped(trace, document, call)]
        lines = sorted({each.range.start.line for each in changes})
        repair = Repair(Way.WITH_PYTORCH, lines=tuple(lines))
        yield Fix.by(repair, Safety.SAFE, tuple(changes), preferred=True, rewrite=True)


def is_used_by_numpy(trace: Trace, behind: Sequence[ast.expr]) -> bool:
    """Whether other statements hand what becomes a tensor to NumPy."""
    inside = {id(node) for each in behind for node in ast.walk(each)}
    changed: set[str] = set()
    for each in behind:
        statement = statement_of(trace, each)
        changed |= stored_names(statement) if isinstance(statement, ast.Assign) else set()
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("np", "numpy")
        and id(node) not in inside
        and bool(names_in(node) & changed)
        for statement in trace.visits
        for node in ast.walk(statement)
    )


class _Translation:
    """The edits that turn expressions of NumPy into such of PyTorch; `arrays` counts the tensors that they take."""

    def __init__(self, trace: Trace, document: Document, torch: str) -> None:
        self._trace = trace
        self._document = document
        self._torch = torch
        self._seen: set[int] = set()
        self.changes: list[Edit] = []
        self.arrays = 0

    def takes(self, expression: ast.expr) -> bool:
        """Whether the whole expression can be written with PyTorch; notes how."""
        return all(self._takes_node(each) for each in ast.walk(expression))

    def _takes_node(self, node: ast.AST) -> bool:
        if id(node) in self._seen:
            return True
        match node:
            case ast.Call(func=ast.Attribute(attr="numpy"), args=[]):
                self.arrays += 1
                return self._without_conversion(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "numpy") as module, attr=name)):
                return self._function(node, module, name)
            case ast.Call(func=ast.Attribute(attr="std" | "var")):
                return self._spread(node)
            case ast.Call(func=ast.Attribute(attr="astype"), args=[_]) | ast.Call(func=ast.Attribute(attr="item")):
                edit = edits.drop_method(self._document, node)
                self.changes += () if edit is None else (edit,)
                self._seen.update(id(each) for arg in node.args for each in ast.walk(arg))
                return edit is not None
            case ast.Call(func=ast.Attribute(attr="max" | "min" | "copy" | "tolist" | "argmax" | "dot")):
                return False
            case ast.Name(id="np" | "numpy"):
                return False
            case _:
                return True

    def _without_conversion(self, call: ast.Call) -> bool:
        """`x.detach().cpu().numpy()` becomes `x`; the statement `x = x.numpy()` goes."""
        value: ast.expr = call
        while True:
            match value:
                case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _CONVERSIONS | {"numpy"}:
                    self._seen.update((id(value), id(value.func)))
                    value = inner
                case ast.Attribute(value=inner, attr="data"):
                    self._seen.add(id(value))
                    value = inner
                case _:
                    break
        statement = statement_of(self._trace, call)
        match statement, value:
            case ast.Assign(targets=[ast.Name(id=bound)], value=whole), ast.Name(id=read) if (
                bound == read and whole is call
            ):
                edit = edits.delete_statement(self._document, statement)
            case _:
                place = self._document.range_of(call)
                edit = Edit(self._document.path, Range(self._document.range_of(value).end, place.end), "")
        self.changes += () if edit is None else (edit,)
        return edit is not None

    def _function(self, call: ast.Call, module: ast.Name, name: str) -> bool:
        """`np.exp(x)` becomes `torch.exp(x)`."""
        if name in _FILLED:
            return self._buffer(call, module, name)
        known = name in _SAME or name in _RENAMED or name in _SPREADS
        constants = any(isinstance(each, ast.Constant) for each in call.args[:1])
        options = {each.arg for each in call.keywords} - {"axis", "keepdims"}
        if not known or constants or options:
            return False
        self._seen.add(id(module))
        self.changes.append(edits.replace(self._document, call.func, f"{self._torch}.{_RENAMED.get(name, name)}"))
        return name not in _SPREADS or self._spread(call)

    def _buffer(self, call: ast.Call, module: ast.Name, name: str) -> bool:
        """`np.zeros(n, dtype=np.float32)` becomes `torch.zeros(n)`, into which tensors can be written."""
        if any(each.arg != "dtype" for each in call.keywords):
            return False
        drop = edits.drop_keyword(self._document, call, "dtype")
        self._seen.add(id(module))
        self._seen.update(id(each) for keyword in call.keywords for each in ast.walk(keyword.value))
        self.changes.append(edits.replace(self._document, call.func, f"{self._torch}.{name}"))
        self.changes += () if drop is None else (drop,)
        self.arrays += 1
        return True

    def _spread(self, call: ast.Call) -> bool:
        edit = edits.add_keyword(self._document, call, "correction", "0")
        if edit is None or any(each.arg == "ddof" for each in call.keywords):
            return False
        self._seen.add(id(call))
        self.changes.append(edit)
        return True
