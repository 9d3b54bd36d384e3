"""Functions in which something may be kept from learning, though no backward and no step is in sight."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator

from gradpath.overlays.presumed.missed_flags import FLAG, is_near
from gradpath.overlays.presumed.modules_alone import grouped_in, states_of
from gradpath.source.index import contents, inside
from gradpath.source.nodes import Definition, last_name, nodes, noted
from gradpath.source.parse import Parsed
from gradpath.support.words import words


@noted
def may_miss_flag(function: Definition) -> bool:
    """True if a function sets a flag of what is no item of parameters, or one with another name, or compares it."""
    parameters = {
        each.id
        for loop in nodes(function)
        if isinstance(loop, ast.For | ast.comprehension) and "parameters" in ast.unparse(loop.iter)
        for each in nodes(loop.target)
        if isinstance(each, ast.Name)
    }
    return any(_misses(node, parameters) for node in nodes(function))


def _misses(node: ast.AST, parameters: Collection[str]) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(value=owner, attr=name)], value=ast.Constant(value=bool())):
            return is_near(name) or (
                name == FLAG
                and isinstance(owner, ast.Name | ast.Attribute)
                and not (isinstance(owner, ast.Name) and owner.id in parameters)
            )
        case ast.Expr(value=ast.Compare(left=ast.Attribute(attr=name), comparators=[ast.Constant(value=bool())])):
            return name == FLAG
    return False


def may_fail_silently(function: Definition, owner: ast.ClassDef | None, flags: bool) -> bool:
    """True if a function may miss a flag, is a `backward` of its own, or a `forward` with unregistered weights.

    So is a `forward` that may keep its graph in a buffer, or in a state, for the next one, or whose class takes its own
    weights off the graph, or something where it puts weights into groups for an optimizer, a method that loads the
    state of one network into another, which may be the same, and one that may put a network in the place of its copy.
    """
    if flags and may_miss_flag(function):
        return True
    if owner is not None and any(map(_loads_state, contents(function).calls)):
        return True
    bound = inside(function, ast.Assign) if owner is not None and function.name != "__init__" else ()
    if owner is not None and any(map(_rebinds, bound)) and _copies(owner):
        return True
    if owner is None or function.name != "forward":
        return owner is not None and function.name == "backward"
    if grouped_in(owner) and any(each.attr in _CUTS for each in inside(owner, ast.Attribute)):
        return True
    return may_forget(owner) or writes_buffer(owner) or cuts_own_weights(owner) or bool(states_of(owner))


_CUTS = frozenset({"data", "detach", "no_grad"})


@noted
def writes_buffer(owner: ast.ClassDef) -> bool:
    """True if a method of a class sets what the class registers as a buffer, or writes into it."""
    registered = {
        call.args[0].value
        for call in nodes(owner)
        if isinstance(call, ast.Call) and last_name(call.func) == "register_buffer" and call.args
        if isinstance(call.args[0], ast.Constant)
    }
    return bool(registered) and any(_written(node) in registered for node in nodes(owner))


@noted
def cuts_own_weights(owner: ast.ClassDef) -> bool:
    """True if a method reads what its class makes by a call under `no_grad`, or through `.data` or `detach()`.

    Or it takes a difference off the graph, as straight-through estimates do.
    """
    methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)]
    made = {
        target.attr
        for method in methods
        for each in nodes(method)
        if isinstance(each, ast.Assign) and method.name == "__init__" and not isinstance(each.value, ast.Name)
        for target in nodes(each)
        if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)
    }
    cut = (part for each in methods if each.name != "__init__" for node in nodes(each) for part in _cut_by(node))
    return any(isinstance(each, ast.BinOp) or getattr(each, "attr", None) in made for each in cut)


def _cut_by(node: ast.AST) -> Iterator[ast.AST]:
    """What a node takes off the graph, or computes without one."""
    match node:
        case ast.Attribute(value=ast.Attribute() | ast.Call() as value, attr="data" | "detach", ctx=ast.Load()):
            yield from (each for each in nodes(value) if isinstance(each, ast.Attribute))
        case ast.Attribute(value=ast.BinOp(op=ast.Sub()) as difference, attr="data" | "detach"):
            yield difference
        case ast.With(items=items, body=body) | ast.FunctionDef(decorator_list=items, body=body) if any(
            "no_grad" in ast.unparse(each) for each in items
        ):
            for each in body:
                yield from (part for part in nodes(each) if isinstance(part, ast.Attribute))


def _written(node: ast.AST) -> str | None:
    """The attribute of `self` that a node sets or writes into in place."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            return name
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name), ctx=ast.Store()):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr=method)):
            return name if method.endswith("_") else None
    return None


def _rebinds(node: ast.AST) -> bool:
    """True for `self.target = self.net`."""
    match node:
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Attribute(value=ast.Name(id="self"))
        ):
            return True
    return False


@noted
def _copies(owner: ast.ClassDef) -> bool:
    """True if a class copies something, or loads the state of a network, and steps an optimizer."""
    called = {last_name(call.func) for call in nodes(owner) if isinstance(call, ast.Call)}
    return "step" in called and not called.isdisjoint(("deepcopy", "load_state_dict"))


def _loads_state(node: ast.AST) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr="load_state_dict"),
            args=[ast.Call(func=ast.Attribute(attr="state_dict")), *_],
        ):
            return True
    return False


@noted
def may_forget(owner: ast.ClassDef) -> bool:
    """True if a class may compute with weights that it does not register.

    Its `__init__` keeps modules in plain containers, computes with a parameter or fills a tensor, or its `forward`
    makes a layer.
    """
    methods = {each.name: each for each in owner.body if isinstance(each, ast.FunctionDef)}
    made, forward = methods.get("__init__"), methods.get("forward")
    if forward is None:
        return False
    return (
        keeps_modules(owner)
        or (made is not None and any(map(_is_loose, nodes(made))))
        or any(_is_called_to_make(each) for each in nodes(forward))
    )


def _is_loose(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
            calls = [each for each in nodes(value) if isinstance(each, ast.Call)]
            return any(
                last_name(each.func) in _DRAWING or (last_name(each.func) == "Parameter" and each is not value)
                for each in calls
            )
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.Attribute(value=ast.Name(id="self")), *_]):
            return name.endswith("_")
    return False


_DRAWING = frozenset({"rand", "randn", "normal"})


def _is_called_to_make(node: ast.AST) -> bool:
    """True if a layer is made and called, at once or in the next line: not if it becomes an attribute."""
    match node:
        case ast.Call(func=made) if isinstance(made, ast.Call):
            return _makes(made)
        case ast.Assign(targets=[ast.Name()], value=value):
            return any(isinstance(each, ast.Call) and _makes(each) for each in nodes(value))
    return False


@noted
def keeps_modules(owner: ast.ClassDef) -> bool:
    """True if `__init__` puts what it makes of a class into a container that is an attribute of `self`."""
    made = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    for method in made:
        filled = {each.id for each in _receivers(method) if isinstance(each, ast.Name)}
        own = any(isinstance(each, ast.Attribute) for each in _receivers(method))
        if own or any(_keeps(node, filled) for node in nodes(method)):
            return True
    return False


def _keeps(node: ast.AST, filled: Collection[str]) -> bool:
    """True if a node puts a module into an attribute that is a container, or one of the `filled` into an attribute."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Name(id=name)):
            return name in filled
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=value):
            return _holds(value)
    return False


@noted
def _receivers(method: ast.FunctionDef) -> tuple[ast.expr, ...]:
    """The containers into which a method puts modules: `blocks.append(nn.Linear(1, 1))`, `heads[name] = Head()`."""
    named = {
        each.targets[0].id
        for each in nodes(method)
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and _may_make(each.value)
    }

    def is_made(value: ast.expr) -> bool:
        return _may_make(value) or (isinstance(value, ast.Name) and value.id in named)

    found: list[ast.expr] = []
    for node in nodes(method):
        match node:
            case ast.Call(func=ast.Attribute(value=container, attr="append"), args=[made]) if is_made(made):
                found.append(container)
            case ast.Assign(targets=[ast.Subscript(value=container)], value=made) if is_made(made):
                found.append(container)
    return tuple(found)


def _holds(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return any(map(_may_make, parts))
        case ast.ListComp(elt=made) | ast.DictComp(value=made):
            return _may_make(made)
    return False


def _may_make(made: ast.expr) -> bool:
    """True if an expression calls a class, or a method or function that may make an object of one."""
    match made:
        case ast.Call(func=ast.Name(id=name)):
            return not hasattr(builtins, name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"))):
            return True
    return _makes(made)


def _makes(made: ast.expr) -> bool:
    """True if an expression calls a class, by the way classes are written, alone or for a part of a list."""
    if isinstance(made, (ast.List, ast.Tuple)):
        return any(map(_makes, made.elts))
    match made:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner)):  # `Block().to(device)`
            return _makes(inner)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name[:1].isupper()
    return False


_SIGNS_OF_STEPS = (".sample(", "argmax(", "argmin(", "multinomial(", "round(", "sign(")
_SIGNS_OF_OWN = (".data", "detach()", "no_grad")
SIGNS_OF_CUTS = (*_SIGNS_OF_STEPS, ".float()", "tensor(", "item()")


def definitions_that_cut(parsed: Parsed) -> set[str]:
    """The functions and classes of a file with a sign of a cut in their text, or that take their weights off the graph.

    Where the file trains something itself, only choices and steps count, which hand no gradient on, but in classes that
    it does not mention again: these are for others.
    """
    document = parsed.document
    trains = "backward(" in document.text
    classes = parsed.tree.body if any(sign in document.text for sign in _SIGNS_OF_OWN) else ()
    found = {each.name for each in classes if isinstance(each, ast.ClassDef) and cuts_own_weights(each)}
    for each in parsed.tree.body if any(sign in document.text for sign in SIGNS_OF_CUTS) else ():
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            start = document.offset_of_line(each.lineno)
            end = document.offset_of_line((each.end_lineno or each.lineno) + 1)
            beside = isinstance(each, ast.ClassDef) and not is_mentioned(document.text, each.name)
            signs = SIGNS_OF_CUTS if beside or not trains else _SIGNS_OF_STEPS
            if any(document.text.find(sign, start, end) >= 0 and _cuts(each, sign) for sign in signs):
                found.add(each.name)
    return found


def _cuts(code: Definition | ast.ClassDef, sign: str) -> bool:
    """True if a sign stands for a call, not in a comment, nor where a class makes its parts.

    What is made of numbers was in no graph, and where nothing is compared there is nothing to turn into numbers.
    """
    methods = (each for each in code.body if isinstance(each, Definition) and each.name != "__init__")
    name = sign.strip(".()")
    for call in (
        call for body in (methods if isinstance(code, ast.ClassDef) else (code,)) for call in contents(body).calls
    ):
        called = last_name(call.func)
        if called == name or (called.endswith("_tensor") and name == "tensor" and called != "is_tensor"):
            match name:
                case "float" if not any(map(_compares, nodes(code))):
                    continue
                case "tensor" if not (call.args and any(isinstance(each, _NAMING) for each in nodes(call.args[0]))):
                    continue
            return True
    return False


def _compares(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and last_name(node.func) in _COMPARING)


_COMPARING = words("bernoulli bool eq ge greater greater_equal gt heaviside le less less_equal lt ne not_equal one_hot")
_NAMING = (ast.Name, ast.Attribute)


def is_mentioned(text: str, name: str) -> bool:
    """True if a text has the name of a definition once more than where it is defined."""
    return len(re.findall(rf"\b{re.escape(name)}\b", text)) > 1


def is_forward_with(function: Definition, owner: ast.ClassDef | None, names: Collection[str]) -> bool:
    """True if a function is the `forward` of a class that is among these definitions, or mentions one."""
    if owner is None or function.name != "forward":
        return False
    return owner.name in names or any(each.id in names for each in contents(owner).names)
