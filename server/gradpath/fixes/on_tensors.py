"""What was computed from numbers or arrays, computed on the tensors that these were taken from.

Each conversion in an expression goes, and each function of NumPy becomes that of PyTorch; whether what is then written
keeps the graph is left to the trial.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradpath.diagnostic import Edit, Fix, Position, Range, Safety
from gradpath.findings.cuts import CASTS, Cause
from gradpath.findings.definitions import defining_expressions, feeding, given_to, is_read_out, numbers_kept
from gradpath.findings.report import Source
from gradpath.findings.syntax import statement_of
from gradpath.fixes import edits
from gradpath.fixes.moving import removed
from gradpath.interpreter.events import Bound, Mixed, ReadOut, Site, Stored
from gradpath.interpreter.trace import Trace
from gradpath.repairs import Repair, Way
from gradpath.source.imports import called, meaning
from gradpath.source.index import contents, holds
from gradpath.source.nodes import last_name
from gradpath.support.words import words

_MAKERS = words(
    """float torch.tensor torch.as_tensor torch.from_numpy torch.Tensor torch.FloatTensor torch.autograd.Variable
    torch.nn.Parameter"""
)
"""Functions that make of their argument what has no graph."""

_OPTIONS = frozenset({"dtype", "device", "requires_grad"})
_CONVERSIONS = frozenset({"detach", "detach_", "numpy", "item", "cpu", "astype"}) | CASTS
_REFUSED = words("tolist max min copy argmax dot")
"""Methods of arrays and lists that give something else than those of tensors."""

_SAME = words(
    """abs add clip cos cosh divide exp expm1 log log10 log1p log2 matmul mean multiply ones prod sign sin sinh sqrt
    square stack std subtract sum tan tanh var where zeros"""
)
"""Functions of NumPy that PyTorch has by the same name, for the same arguments."""

_FILLED = frozenset({"ones", "zeros"})
_SPREADS = frozenset({"std", "var"})
"""Functions that divide by the count in NumPy, by one less in PyTorch unless it is told."""

MOST = 4
"""Places where a number is read out that one fix changes."""


def on_tensors(trace: Trace, source: Source, cause: Cause) -> Iterator[Fix]:
    """The fixes for a tensor that was made of numbers, of arrays, or of another tensor's value."""
    site = cause.site
    if site is None or not isinstance(site.node, ast.Call) or not _is_maker(site.node, source.names(site.path)):
        return
    call = site.node
    expressions = defining_expressions(trace, source.document(site), call.args[0])
    if cause.how in ("numpy", "plain"):
        yield from _translated(trace, source, site, call, expressions)
        return
    known = {id(read.site.node): read.tensor for read in _reads(trace)}
    fed = (each for expression in expressions for each in feeding(expression))
    taken = dict.fromkeys(each for each in fed if isinstance(each, ast.Call) and is_read_out(each))
    reads = [each for each in taken if (tensor := known.get(id(each))) is None or tensor.requires_grad]
    elsewhere = [] if reads else numbers_kept(source.tree(site.path), call.args[0])
    if len(reads) > MOST or any(last_name(each.func) in _REFUSED for each in reads):
        return
    if not (reads or elsewhere) and cause.how == "item" and not isinstance(call.args[0], ast.Call | ast.List):
        return  # Where the numbers are read out is not found: they would still be numbers.
    written = Rewriting(trace, source, site)
    written.keeps(elsewhere)
    reads += elsewhere
    if written.takes_from(call) and all(map(written.takes_from, reads)):
        way = Way.STACK if written.is_list(call.args[0]) else Way.USE_TENSOR
        repair = Repair(way, (source.short(site),))
        if not all(holds(call, each) for each in reads):
            way = Way.NOT_NUMBERS if elsewhere else Way.WITHOUT_READING
            repair = Repair(way, lines=tuple(sorted({each.lineno for each in reads})))
        yield Fix.by(repair, Safety.SAFE, tuple(written.changes))


def on_tensors_read(trace: Trace, source: Source, cut: Site, added: Site) -> Iterator[Fix]:
    """`float(np.sum(x.numpy()))` becomes `torch.sum(x)`: a number that is `added` to a loss; `cut` is `x.numpy()`."""
    document = source.document(added)
    for expression in defining_expressions(trace, document, added.node) if isinstance(added.node, ast.expr) else ():
        for call in contents(expression).calls:
            if isinstance(call.func, ast.Name) and call.func.id == "float" and len(call.args) == 1:
                expressions = defining_expressions(trace, document, call.args[0])
                if any(holds(each, cut.node) for each in expressions):
                    yield from _translated(trace, source, added, call, expressions)
                    return


def _translated(trace: Trace, source: Source, at: Site, call: ast.Call, made: Sequence[ast.expr]) -> Iterator[Fix]:
    written = Rewriting(trace, source, at)
    if all(map(written.takes, made)) and written.arrays and written.takes_from(call):
        repair = Repair(Way.WITH_PYTORCH, lines=tuple(sorted({each.range.start.line for each in written.changes})))
        yield Fix.by(repair, Safety.SAFE, tuple(written.changes), rewrite=True)


def _is_maker(call: ast.Call, names: Mapping[str, str]) -> bool:
    """True if a call makes of its one argument what has no graph: `torch.tensor(x)`, `Variable(x)`, `float(x)`."""
    name = call.func.id if isinstance(call.func, ast.Name) and call.func.id not in names else meaning(call.func, names)
    return name in _MAKERS and len(call.args) == 1 and all(each.arg in _OPTIONS for each in call.keywords)


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


class Rewriting:
    """The edits that let expressions keep the graph, in order.

    `arrays` counts what they take of NumPy, and one `deletes` a statement.
    A list of which a tensor is made is stacked. Methods that `also` go are no conversions.
    """

    def __init__(self, trace: Trace, source: Source, site: Site, also: frozenset[str] = frozenset()) -> None:
        self._trace, self._document, self._names = trace, source.document(site), source.names(site.path)
        self._conversions = _CONVERSIONS | also
        self._seen: set[int] = set()
        self._kept: set[int] = set()
        self.changes: dict[Edit, None] = {}
        self.arrays, self.deletes = 0, False

    def keeps(self, reads: Sequence[ast.Call]) -> None:
        """What is read out in each of these stays a tensor, of no dimension if it was one number."""
        for each in reads:
            whole, dropped = self._document.range_of(each).end, edits.drop_method(self._document, each)
            if dropped is not None:
                text = ".squeeze()" if last_name(each.func) == "item" else ""
                self.changes[Edit(self._document.path, Range(dropped.range.start, whole), text)] = None
                self._kept.add(id(each))

    def takes(self, expression: ast.expr) -> bool:
        """True if the whole expression can be written with PyTorch; notes how."""
        return all(map(self._takes_node, ast.walk(expression)))

    def _takes_node(self, node: ast.AST) -> bool:
        match node:
            case _ if id(node) in self._seen:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name() as module, attr=name)) if self._is_numpy(module):
                return self._function(node, module, name)
            case ast.Call(func=ast.Attribute(attr="numpy" | "astype" | "item" as name)):
                self.arrays += name == "numpy"
                return self.takes_from(node) is not None
            case ast.Call(func=ast.Attribute(attr=name)):
                return name not in _REFUSED and (name not in _SPREADS or self._spread(node))
        return not self._is_numpy(node)

    def _is_numpy(self, node: ast.AST) -> bool:
        return meaning(node, self._names) == "numpy"

    def takes_from(self, node: ast.AST) -> ast.expr | None:
        """What a conversion, and those that it is made of, take their value from, if they can go; notes how.

        `x.detach().cpu().numpy()` and `torch.tensor(x.item())` become `x`, and the statement `x = x.numpy()` goes.
        """
        if id(node) in self._kept and isinstance(node, ast.expr):
            return node
        value, places = self._value(node)
        if value is node or not isinstance(value, ast.expr):
            return None
        statement = statement_of(self._trace, node)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else value
        own = isinstance(statement, ast.Assign | ast.Expr) and statement.value is node
        if own and ast.unparse(target) == ast.unparse(value):
            places, self.deletes = [removed(self._trace, self._document, statement)], True
        self.changes |= dict.fromkeys(filter(None, places))
        return value if all(places) else None

    def _value(self, node: ast.AST) -> tuple[ast.AST, list[Edit | None]]:
        """What a conversion is made of in the end, and the edits that take it alone."""
        places: list[Edit | None] = []
        while True:
            self._seen |= {id(node), id(getattr(node, "func", node))}
            match node:
                case ast.Attribute(attr="data", value=value):
                    places.append(edits.drop_method(self._document, node))
                case ast.Call(func=ast.Attribute(value=value, attr=name), args=given) if name in self._conversions and (
                    not given or name == "astype"
                ):
                    places.append(edits.drop_method(self._document, node))
                    self._seen.update(id(part) for each in given for part in ast.walk(each))
                case ast.Call(args=[value]) if _is_maker(node, self._names):
                    places += self._unwrapped(node)
                case _:
                    return node, places
            node = value

    def _unwrapped(self, call: ast.Call) -> tuple[Edit, ...]:
        """`torch.tensor(x)` becomes `x`, in parentheses where something follows that needs them; a list is joined."""
        document, value = self._document, call.args[0]
        place, inner = document.range_of(call), document.range_of(value)
        statement = statement_of(self._trace, call)
        whole = isinstance(statement, (ast.Assign, ast.Return, ast.AnnAssign)) and statement.value is call
        name, end = document.range_of(call.func), place.end
        if isinstance(call.func, ast.Attribute) and self.is_list(value):
            start = Position(name.end.line, name.end.column - len(call.func.attr))
            rest = Edit(document.path, Range(inner.end, Position(end.line, end.column - 1)), "")
            torch = edits.flat(document, call.func.value)
            return (Edit(document.path, Range(start, name.end), "stack"), *self._joined(torch, value), rest)
        elif isinstance(value, edits.ATOMS) or whole:
            first = Edit(document.path, Range(place.start, inner.start), "")
        else:
            first = Edit(document.path, name, "")
            end = Position(end.line, end.column - 1)
        return (first, Edit(document.path, Range(inner.end, end), "")) if inner.end != end else (first,)

    def _joined(self, torch: str, value: ast.expr) -> Iterator[Edit]:
        """The lists in a list are stacked as well, and its numbers become tensors like the first one that it has."""
        document, items = self._document, list[ast.expr](value.elts if isinstance(value, ast.List) else ())
        for each in items:  # Those of the lists in it are found on the way.
            items += each.elts if isinstance(each, ast.List) else ()
        numbers = [each for each in items if not any(isinstance(part, (ast.Name, ast.List)) for part in ast.walk(each))]
        like = next((each for each in items if each not in numbers and not isinstance(each, ast.List)), value)
        reads = (each.func for each in ast.walk(like) if isinstance(each, ast.Call) and is_read_out(each))
        like = next((each.value for each in reads if isinstance(each, ast.Attribute)), like)
        for each in items:
            if isinstance(each, ast.List):
                yield from edits.put_into(document, each, f"{torch}.stack")
            elif each in numbers:
                text = f"{torch}.full_like({edits.flat(document, like)}, {edits.flat(document, each)})"
                yield edits.replace(document, each, text)

    def is_list(self, value: ast.expr) -> bool:
        """True if an expression is a list, or a part of one, as far as the syntax of what ran tells."""
        while isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            value = value.value
        made: Iterable[ast.expr] = (value, *given_to(self._trace, ast.unparse(value)))
        return bool(self._kept) or any(isinstance(each, (ast.List, ast.ListComp)) for each in made)

    def _function(self, call: ast.Call, module: ast.Name, name: str) -> bool:
        """`np.exp(x)` becomes `torch.exp(x)`."""
        options = {each.arg for each in call.keywords} - {"axis", "keepdims", "dtype"}
        constants = any(isinstance(each, ast.Constant) for each in call.args[:1]) and name not in _FILLED
        torch = called("torch", self._names)
        if name not in _SAME or options or constants or torch is None:
            return False
        new = edits.replace(self._document, call.func, f"{torch}.{name}")
        self._seen |= {id(module), *(id(part) for each in call.keywords for part in ast.walk(each.value))}
        self.changes |= dict.fromkeys(filter(None, (new, edits.drop_keyword(self._document, call, "dtype"))))
        self.arrays += name in _FILLED
        return name not in _SPREADS or self._spread(call)

    def _spread(self, call: ast.Call) -> bool:
        edit = edits.add_keyword(self._document, call, "correction", "0")
        self._seen.add(id(call))
        self.changes |= {} if edit is None else {edit: None}
        return edit is not None and all(each.arg != "ddof" for each in call.keywords)
