"""Where a document is entered: its module body, then the functions that nothing in it calls."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

from gradpath.analysis.inplace_writes import (
    PARTING,
    SIGNS_OF_LAYERS,
    asks_for_parameters,
    assigns_to_parameters,
    changes_what_was_inferred,
    hands_on_weights,
    is_called_without_grad,
    is_without_grad,
    makes_writing_layer,
    may_be_refused,
    names_weights,
    takes_apart,
    written_inputs,
)
from gradpath.analysis.mentions import TELLING, Mentions, is_telling, joined, mentions, parts_of
from gradpath.analysis.silent_faults import (
    SIGNS_OF_CUTS,
    definitions_that_cut,
    is_forward_with,
    is_mentioned,
    may_fail_silently,
)
from gradpath.autograd.tensor import SWITCHED_OFF
from gradpath.overlays.presumed.criteria import is_criterion, predictions
from gradpath.overlays.presumed.roles import role_of_name
from gradpath.overlays.registry import called_methods
from gradpath.overlays.relevance import is_of_tensors
from gradpath.source.document import Document
from gradpath.source.imports import imported
from gradpath.source.index import contents, methods_called
from gradpath.source.nodes import Definition, last_name, nodes, noted, statements
from gradpath.source.parse import Parsed
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex
from gradpath.support.traversal import reachable
from gradpath.support.words import words

_MEANT_TO_WRITE = words(
    """clamp clamp_max clamp_min detach index_fill masked_fill permute reshape squeeze transpose unsqueeze"""
)
"""Methods that do not change their tensor, so that they have no effect as a statement."""

_ALONE = regex(r"[ \t]+[\w.]+")
"""What precedes such a call on its line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A function to be entered, with the name of its class and what is presumed of its callers."""

    function: Definition
    owner: str | None
    presumed: str | None = None


def only_defines(tree: ast.Module) -> bool:
    """True if a module body does nothing that a rule could report, like those of most libraries.

    It may call imported names, unless they are of a library of tensors: to make a logger or a type variable.
    """
    inside = nodes(tree, outside=(*_FUNCTIONS, ast.Lambda))
    imports = [each for each in inside if isinstance(each, ast.Import | ast.ImportFrom)]
    plain = {"__file__", "__name__"} | {
        (alias.asname or alias.name).partition(".")[0]
        for each in imports
        for alias in each.names
        if not is_of_tensors(getattr(each, "module", "") or alias.name)
    }
    return not any(isinstance(each, _DOING) for each in inside) and not any(
        (isinstance(each, ast.Call) and not {name.id for name in contents(each).names} <= plain)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
        for each in inside
    )


_DOING = (ast.AugAssign, ast.For, ast.While, ast.With)


def is_entry(function: Definition, owner: str | None) -> bool:
    """True if a function, or a method of the class `owner`, is worth entering, whatever else the file holds."""
    if is_telling(function) or _loses(function):
        return True
    return owner is not None and function.name in called_methods()


def functions(parsed: Parsed, stack: Collection[int] = ()) -> Iterator[Entry]:
    """The top-level functions and the methods of top-level classes that are worth entering.

    Functions that nothing calls and that lead to others come first, then the rest in order, and each `forward` last:
    what makes its module shows more of it. Those around a line of `stack` always are worth it.
    """
    document = parsed.document
    told = _lines_that_tell(document)
    asks = any(each in document.text for each in ("parameters()", "state_dict()", ".weight", ".bias"))
    parts = any(f".{each}(" in document.text for each in PARTING)
    infers = "inference_mode" in document.text
    switches = any(each in document.text for each in SWITCHED_OFF)
    applied = _functions_of_autograd(parsed)
    flags = _FLAGGING.search(document.text) is not None
    lossy = definitions_that_cut(parsed) | _writing(parsed) if "def forward" in document.text else set()
    defined = _defined(parsed.tree) if asks or parts else {}
    names = imported(parsed.tree)

    def is_worth_it(function: Definition, cls: ast.ClassDef | None = None) -> bool:
        owner = None if cls is None else cls.name
        may = _holds_any(function, told) or (owner is not None and function.name in called_methods())
        if (may and is_entry(function, owner)) or _is_on(function, stack) or _applies(function, applied):
            return True
        silent = may_fail_silently(function, cls, flags) or is_forward_with(function, cls, lossy)
        if silent or _is_doubtful_criterion(Entry(function, owner), parsed):
            return True
        if owner is not None and function.name == "__init__" and _prepares_training(function):
            return True
        if infers and changes_what_was_inferred(function):
            return True
        forward = _is_forward(function, owner)
        may_be_leaf = asks and (asks_for_parameters(function) or names_weights(function))
        if asks and (hands_on_weights(function, defined, names) or assigns_to_parameters(function)):
            return True
        if not (forward or may_be_leaf or (parts and takes_apart(function))):
            return False
        if not _may_write(function, document) or not may_be_refused(function, names):
            return False
        return forward or not (switches and is_called_without_grad(function, defined))

    if any(_is_relevant(statement, told) for statement in _open(parsed.tree.body)):
        yield from _leaders(parsed.tree)
    for function, cls in _in_order(parsed.tree):
        if is_worth_it(function, cls):
            yield Entry(function, None if cls is None else cls.name)
        elif infers and cls is not None and function.name == "forward":
            yield Entry(function, cls.name, "if gradients are on")


@noted
def _prepares_training(function: Definition) -> bool:
    """True if it makes an optimizer, or lets a function go over modules: PyTorch may refuse either.

    An `__init__` that runs for a method to be entered is not entered itself, unless that was so.
    """
    found = contents(function)
    return any(last_name(each.func) == "apply" for each in found.calls) or any(
        isinstance(each.ctx, ast.Store) and role_of_name(each.attr) == "optimizer" for each in found.attributes
    )


def _is_forward(function: Definition, owner: str | None) -> bool:
    """True for the `forward` of a class, and for one that stands alone, as in a post that leaves the class out."""
    given = [*function.args.posonlyargs, *function.args.args]
    return function.name == "forward" and (owner is not None or (bool(given) and given[0].arg == "self"))


def _in_order(tree: ast.Module) -> list[tuple[Definition, ast.ClassDef | None]]:
    """The top-level functions, and the methods of top-level classes, each `forward` and `__init__` last."""
    found: list[tuple[Definition, ast.ClassDef | None]] = []
    for statement in _open(tree.body):
        if isinstance(statement, _FUNCTIONS):
            found.append((statement, None))
        elif isinstance(statement, ast.ClassDef):
            found += [(each, statement) for each in statement.body if isinstance(each, _FUNCTIONS)]
    return sorted(found, key=lambda each: each[1] is not None and each[0].name in ("forward", "__init__"))


_FLAGGING = regex(r"requi\w*_?grad\w*[ \t]*==?[ \t]*(True|False)")


def heirs(tree: ast.Module, entry: Entry) -> tuple[str, ...]:
    """The classes of a file that inherit the method of an entry point, and override what it calls on `self`.

    At most `HEIRS` of them: each is another object that the method may run on.
    """
    if entry.owner is None or entry.function.name == "__init__":
        return ()
    classes = _classes_of(tree)
    family = {each.name: each for each in classes if each.name == entry.owner}
    found: list[str] = []
    for each in classes:  # In the order of the file, in which a base comes before what inherits from it.
        bases = [base.id for base in each.bases if isinstance(base, ast.Name) and base.id in family]
        if each.name in family or not bases:
            continue
        methods = _methods(each)
        if entry.function.name in methods:
            continue
        family[each.name] = each
        inherited = {name: method for base in _line(family, bases[0]) for name, method in _methods(base).items()}
        if methods.keys() & _used(entry.function, {**inherited, **methods}):
            found.append(each.name)
    return tuple(found[:HEIRS])


HEIRS = 3
"""Classes that an inherited method is entered for, besides its own."""


@noted
def _classes_of(tree: ast.Module) -> tuple[ast.ClassDef, ...]:
    return tuple(each for each in _open(tree.body) if isinstance(each, ast.ClassDef))


def _methods(owner: ast.ClassDef) -> dict[str, Definition]:
    return {each.name: each for each in owner.body if isinstance(each, _FUNCTIONS)}


def _line(family: Mapping[str, ast.ClassDef], name: str) -> list[ast.ClassDef]:
    """A class and its bases in this file, in the order of inheritance."""
    found: list[ast.ClassDef] = []
    while name in family and family[name] not in found:
        found.insert(0, family[name])
        name = next((base.id for base in found[0].bases if isinstance(base, ast.Name) and base.id in family), "")
    return found


def _used(function: Definition, methods: Mapping[str, Definition]) -> set[str]:
    """The methods that one calls on `self`, maybe through others."""
    own = mentions(function).own
    return set(reachable(own, lambda name: mentions(methods[name]).own if name in methods else ()))


def _lines_that_tell(document: Document) -> list[int]:
    """The lines with a word that may be a telling attribute, or with a call whose result may be lost, in order.

    The text is searched faster than the tree, and word by word faster than for all words at once.
    """
    text = document.text
    words = (
        at
        for word in (*TELLING, "step")
        for at in _places(text, word)
        if not (_is_part(text[at - 1 : at]) or _is_part(text[at + len(word) : at + len(word) + 1]))
    )
    handed = (found.start() for found in _HANDING.finditer(text))
    calls = (
        at
        for name in _MEANT_TO_WRITE
        for at in _places(text, f".{name}(")
        if _ALONE.fullmatch(text, text.rfind("\n", 0, at) + 1, at)
    )
    starts = document.line_starts
    return sorted({bisect_right(starts, at) for at in (*words, *calls, *handed)})


def predictions_of(entry: Entry, parsed: Parsed) -> frozenset[str]:
    """The parameters of a criterion that may be predictions, and what the `forward` of a module is given and writes.

    None of any other function, nor of a criterion in a file with a backward, which shows what is trained with what; but
    a class that the file does not mention again is for others.
    """
    function, document = entry.function, parsed.document
    if is_without_grad(function):
        return frozenset()
    if is_criterion(function, entry.owner):
        beside = entry.owner is not None and not is_mentioned(document.text, entry.owner)
        return predictions(function) if beside or not runs_backward(document.text) else frozenset()
    return written_inputs(function, imported(parsed.tree)) if _is_forward(function, entry.owner) else frozenset()


def _is_doubtful_criterion(entry: Entry, parsed: Parsed) -> bool:
    """True if a criterion may write what its gradient needs, or take its result off the graph."""
    if not is_criterion(entry.function, entry.owner) or not predictions_of(entry, parsed):
        return False
    function, document, text = entry.function, parsed.document, parsed.document.text
    if _may_write(function, document) and may_be_refused(function, imported(parsed.tree)):
        return True
    start, end = document.offset_of_line(function.lineno), document.offset_of_line((function.end_lineno or 0) + 1)
    return any(text.find(sign, start, end) >= 0 for sign in _SIGNS_IN_CRITERIA)


_COMPARING = (" > ", " < ", " >= ", " <= ")
_SIGNS_IN_CRITERIA = (*SIGNS_OF_CUTS, *_COMPARING, "Variable(", "numpy(", ".data", "detach(", "no_grad")


def _writing(parsed: Parsed) -> set[str]:
    """The functions, and the classes with a method other than `forward`, that PyTorch may refuse a write in.

    A class may have a layer that writes in place, too.
    """
    found = set()
    names = imported(parsed.tree)
    layers = any(sign in parsed.document.text for sign in SIGNS_OF_LAYERS)
    for each in _open(parsed.tree.body):
        if layers and isinstance(each, ast.ClassDef) and makes_writing_layer(each):
            found.add(each.name)
        methods = each.body if isinstance(each, ast.ClassDef) else (each,)
        inside = (part for part in methods if isinstance(part, _FUNCTIONS) and part.name not in ("__init__", "forward"))
        if any(_may_write(part, parsed.document) and may_be_refused(part, names) for part in inside):
            found.add(each.name)  # type: ignore[attr-defined]
    return found


def _may_write(function: Definition, document: Document) -> bool:
    """True if the text of a function may have an in-place write."""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    end = document.offset_of_line((function.end_lineno or function.lineno) + 1)
    text, start = document.text, document.offset_of_line(first)
    if any(text.find(sign, start, end) >= 0 for sign in _WRITING):
        return True
    return _INTO_ITEM.search(text, start, end) is not None


# Signs one by one, and expressions that begin with a sign, are found many times as fast as all of them together.
_WRITING = ("_(", "inplace", *(f"{sign}=" for sign in ("+", "-", "*", "/", "@", "%", "&", "|", "^", "<<", ">>")))
_INTO_ITEM = regex(r"\][^=\n]*=")


def runs_backward(text: str) -> bool:
    """True if a document has what it takes to run a backward; plain searches are many times as fast as expressions."""
    return "backward(" in text or any(not _is_part(text[at - 1 : at]) for at in _places(text, "grad("))


def _places(text: str, part: str) -> Iterator[int]:
    """The offsets at which a part of a text begins."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _is_part(character: str) -> bool:
    """True if a character beside a word belongs to it; nothing is beside the ends of a text."""
    return character.isalnum() or character == "_"


def _is_relevant(statement: ast.stmt, lines: Sequence[int]) -> bool:
    """True if a statement is relevant; only these lines, which are sorted, are examined."""
    return any(_holds_any(part, lines) and mentions(part).tells for part in parts_of(statement))


def _leaders(tree: ast.Module) -> Iterator[Entry]:
    """The functions that no other calls by name, and that use, maybe through others, what is telling; methods too.

    They show what the others are given, as `main` does under a decorator or in the hands of a launcher, and `fit` in a
    class of which the file makes no instance. What the body of the module calls is among them: its run may have ended
    before.
    """
    statements: dict[ast.stmt, Mentions] = {}
    classes: dict[ast.ClassDef, dict[ast.AST, Mentions]] = {}
    for statement in _open(tree.body):
        if isinstance(statement, ast.ClassDef):
            classes[statement] = {each: mentions(each) for each in parts_of(statement)}
            statements[statement] = joined(classes[statement].values())
        else:
            statements[statement] = mentions(statement)
    definitions = {each.name: each for each in statements if isinstance(each, (*_FUNCTIONS, ast.ClassDef))}
    called = frozenset[str]().union(*(statements[each].called for each in definitions.values()))
    told = {name for name, node in definitions.items() if statements[node].tells}
    helpers = {name: statements[node].names for name, node in definitions.items() if isinstance(node, _FUNCTIONS)}
    trains = _reaching(helpers, told & helpers.keys())
    training = {name for owner, spoken in classes.items() for name in _training_methods(owner, spoken, trains)}
    made = {owner.name for owner in classes} & told
    completed = _completed(classes)
    given = {name for name, node in definitions.items() if statements[node].methods & training} - told
    for name in _leading({name: statements[node].names for name, node in definitions.items()}, told, given):
        node = definitions[name]
        if isinstance(node, _FUNCTIONS) and name not in called:
            yield Entry(node, None)
    for owner, spoken in classes.items():
        whole, below = statements[owner], completed.get(owner.name, set())
        if owner.name not in called and (whole.tells or below or whole.methods & training or whole.names & trains):
            methods = {each.name: each for each in owner.body if isinstance(each, _FUNCTIONS)}
            told = {name for name, each in methods.items() if spoken[each].tells} | below
            makes = trains | (made - {owner.name})
            given = {name for name, each in methods.items() if _trains_by_others(spoken[each], training, makes)}
            for name in _leading({name: spoken[each].own for name, each in methods.items()}, told, given - told):
                if name not in whole.own and name != "__init__":
                    yield Entry(methods[name], owner.name)


def _completed(classes: Collection[ast.ClassDef]) -> dict[str, set[str]]:
    """The methods with which classes of the file complete their bases in it, by the bases, as far as they train."""
    by_name = {each.name: each for each in classes}
    found: dict[str, set[str]] = {}
    for owner in classes:
        telling = {name for name, each in _methods(owner).items() if mentions(each).tells}
        for base in _line(by_name, owner.name)[:-1]:
            found.setdefault(base.name, set()).update(telling)
    return found


def _trains_by_others(spoken: Mentions, methods: Collection[str], functions: Collection[str]) -> bool:
    """True if a method trains by methods of other objects, or by functions of the file, or makes what does."""
    return not (spoken.methods - spoken.own).isdisjoint(methods) or not spoken.names.isdisjoint(functions)


def _training_methods(owner: ast.ClassDef, spoken: Mapping[ast.AST, Mentions], trains: Set[str]) -> Iterator[str]:
    """The methods of a class that train, or call a function that `trains`; `train` alone is one of what is no module.

    The names that modules and optimizers have for their methods say nothing.
    """
    common = _COMMON | {"train"} if owner.bases else _COMMON
    for each in owner.body:
        if not isinstance(each, _FUNCTIONS) or each.name in common:
            continue
        if spoken[each].tells or spoken[each].names & trains:
            yield each.name


_COMMON = frozenset({"__init__", "backward", "eval", "forward", "step", "zero_grad"})


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _leading(uses: Mapping[str, frozenset[str]], told: set[str], given: Collection[str] = ()) -> list[str]:
    """The definitions that use, directly or through others, one of `told` other than themselves, or are `given` one."""
    leading = _reaching(uses, {*told, *given})
    return [name for name, used in uses.items() if (used & leading) - {name} or name in given]


def _reaching(uses: Mapping[str, frozenset[str]], told: Set[str]) -> set[str]:
    """The definitions that are `told` something, and those that use one of them, maybe through others."""
    leading, more = set(told), True
    while more:
        found = {name for name, used in uses.items() if (used & leading) - {name}}
        more = not found <= leading
        leading |= found
    return leading


def _defined(tree: ast.Module) -> Mapping[str, Sequence[Definition]]:
    """The top-level functions and the methods of top-level classes, by their names."""
    found: dict[str, list[Definition]] = {}
    for statement in _open(tree.body):
        for each in statement.body if isinstance(statement, ast.ClassDef) else (statement,):
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(each.name, []).append(each)
    return found


def _is_on(function: Definition, lines: Collection[int]) -> bool:
    last = function.end_lineno or function.lineno
    return any(function.lineno <= line <= last for line in lines)


def _functions_of_autograd(parsed: Parsed) -> Collection[str]:
    """The custom Functions of a file, as its text shows them; none where nothing runs them."""
    if ".apply(" not in parsed.document.text:
        return frozenset()
    classes = (each for each in _open(parsed.tree.body) if isinstance(each, ast.ClassDef))
    return {each.name for each in classes if any(last_name(base) == "Function" for base in each.bases)}


def _applies(function: Definition, applied: Collection[str]) -> bool:
    """True if a function runs one of some custom Functions."""
    return bool(applied) and any(
        last_name(owner) in applied for owner, name, _ in methods_called(function) if name == "apply"
    )


def _holds_any(node: ast.AST, lines: Sequence[int]) -> bool:
    """True if one of some sorted lines is in a node or in its decorators."""
    own: int = getattr(node, "lineno", 0)
    decorators = getattr(node, "decorator_list", ())
    index = bisect_left(lines, min(own, *(each.lineno for each in decorators)) if decorators else own)
    return index < len(lines) and lines[index] <= getattr(node, "end_lineno", own)


def _open(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of the module, those under `if` and `try` included."""
    for statement in body:
        match statement:
            case ast.If():
                yield from _open(statement.body)
                yield from _open(statement.orelse)
            case ast.Try():
                yield from _open(statement.body)
            case _:
                yield statement


_HANDING = regex(r"opt\w*,[^()]*loss|loss\w*,[^()]*opt")
"""The pattern of an optimizer next to a loss, on one line or several."""


def _loses(function: Definition) -> bool:
    """True if a call that does not change its tensor is a statement."""
    return any(type(each) is ast.Expr and _is_lost(each) for each in statements(function.body))


def _is_lost(node: ast.Expr) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in _MEANT_TO_WRITE
    return False
