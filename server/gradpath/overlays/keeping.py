"""Live values: the tensors, containers of them and optimizers in the variables of running bodies."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradpath.interpreter.bounds import shown
from gradpath.interpreter.containers import List
from gradpath.interpreter.events import Form, Kept, Site
from gradpath.interpreter.mappings import Dict, Holder
from gradpath.interpreter.scope import Deferred, Frame
from gradpath.interpreter.values import UNDEFINED, Function, Instance, Unknown, Value
from gradpath.overlays.libraries.collections import Bounded
from gradpath.overlays.libraries.standard_library import RecordInstance
from gradpath.overlays.torch.layers import ContainerInstance
from gradpath.overlays.torch.optim import OptimizerInstance
from gradpath.overlays.torch.tensor_value import TensorValue

DEPTH = 4
"""Attributes and items that are followed one from the other."""

WIDTH = 400
"""Values that are looked at for one body."""


def kept(frame: Frame) -> tuple[Kept, ...]:
    """The live values of the running bodies, those of `frame` first."""
    found: list[Kept] = []
    running: Frame | None = frame
    while running is not None:
        walk = _Walk(running.caller)
        for name, value in list(running.scope.variables.items()):
            found += walk.below(value, name, name, DEPTH)
        running = running.parent
    return tuple(found)


class _Walk:
    """A walk over what the variables of one body lead to; each object is entered once, by the first way to it."""

    def __init__(self, caller: Site | None) -> None:
        self._caller = caller
        self._seen: set[int] = set()

    def below(self, value: Value, root: str, text: str, depth: int) -> Iterator[Kept]:
        if isinstance(value, Deferred) or len(self._seen) > WIDTH:
            return
        form = _form(value)
        if form is not None:
            yield Kept(self._caller, root, text, form)
            return
        if id(value) in self._seen or depth == 0:
            return
        self._seen.add(id(value))
        for part, way in _parts(value):
            yield from self.below(part, root, text + way, depth - 1)


def _parts(value: Value) -> Iterator[tuple[Value, str]]:
    """The values that an object holds, with the way to each: `.name` or `[0]`."""
    match value:
        case ContainerInstance():
            by_name = value.cls.name.endswith("Dict")
            for index, name in enumerate(value.keys):
                yield value.attributes.get(name), f'["{name}"]' if by_name else f"[{index}]"
        case Holder():
            yield from _parts(value.content)
        case Instance():
            fixed = _fields(value) is not None or _is_frozen(value)
            for name, part in list(value.attributes.items()):
                if name.isidentifier() and not (fixed and _form(part) is not None):
                    yield part, f".{name}"
        case List(open=False):
            for index, part in enumerate(value.items):
                yield part, f"[{index}]"
        case tuple():  # An item of a tuple cannot be assigned, but what it leads to can.
            for index, part in enumerate(value):
                if _form(part) is None:
                    yield part, f"[{index}]"
        case Dict():
            for key, item in list(value.entries.values()):
                if isinstance(key, (str, int)):
                    yield item, f"[{_literal(key)}]"


def _fields(value: Instance) -> list[str] | None:
    """The fields of a named tuple, which cannot be assigned; None for all others."""
    names = value.cls.find("_fields")
    return [str(name) for name in names] if isinstance(names, tuple) and isinstance(value, RecordInstance) else None


def _is_frozen(value: Instance) -> bool:
    """True if an object is one of a `@dataclass(frozen=True)`."""
    decorators = value.cls.node.decorator_list if value.cls.node is not None else []
    options = [each for call in decorators if isinstance(call, ast.Call) for each in call.keywords]
    return any(each.arg == "frozen" and ast.unparse(each.value) == "True" for each in options)


def _literal(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) and '"' not in key and "\\" not in key else shown(key)


def _form(value: Value, depth: int = 3) -> Form | None:
    """The form of a value that holds nothing but tensors; None for all others."""
    if depth == 0:
        return None
    match value:
        case TensorValue():
            return Form("tensor", (value.tensor,), value)
        case Unknown(tensor=TensorValue() as made):
            return Form("tensor", (made.tensor,), value)
        case OptimizerInstance():
            return Form("optimizer", tuple(value.parameters()), value)
        case Instance():
            if (names := _fields(value)) is not None:
                fields = [(name, _form(value.attributes.get(name), depth - 1)) for name in names]
                known = tuple((name, form) for name, form in fields if form is not None and form.kind != "optimizer")
                tensors = tuple(tensor for _, form in known for tensor in form.tensors)
                return Form("record", tensors, value, known) if known else None
            if isinstance(value.cls.find("detach"), Function):
                held = [form for _, part in value.attributes.items() if (form := _form(part, depth - 1)) is not None]
                tensors = tuple(tensor for form in held for tensor in form.tensors)
                return Form("detachable", tensors, value) if tensors else None
            return None
        case tuple():
            return _joined("tuple", value, [(str(index), part) for index, part in enumerate(value)], depth)
        case List() if type(value) is List:
            items = [(str(index), part) for index, part in enumerate(value.items)]
            return _joined("list", value, items, depth, open=value.open)
        case Bounded():
            items = [(str(index), part) for index, part in enumerate(value.items)]
            return _joined("deque", value, items, depth, open=value.open)
        case Dict() if type(value) is Dict and value.default is UNDEFINED:
            named = [(_literal(key), part) for key, part in value.entries.values()]
            return _joined("dict", value, named, depth, open=value.open)
    return None


def _joined(kind: str, value: Value, parts: list[tuple[str, Value]], depth: int, *, open: bool = False) -> Form | None:
    """The form of a container; None where one of its items is no tensor and holds none."""
    forms = [(name, form) for name, part in parts if (form := _form(part, depth - 1)) is not None]
    if not forms or len(forms) < len(parts) or any(form.kind == "optimizer" for _, form in forms):
        return None
    return Form(kind, tuple(tensor for _, form in forms for tensor in form.tensors), value, tuple(forms), open)
