"""The standard library's `numbers`: what counts as a number for `isinstance`. A tensor never does."""

from __future__ import annotations

from gradpath.interpreter.values import Class, Unknown, Value
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.tensor_value import TensorNumber


class NumberClass(Class):
    """An abstract number type; `holds` says which values are its instances."""

    __slots__ = ("kinds",)

    def __init__(self, name: str, *kinds: type) -> None:
        super().__init__(name)
        self.kinds = kinds

    def holds(self, value: Value) -> bool | None:
        return None if isinstance(value, Unknown) else isinstance(value, self.kinds)


NAMES: Names = {
    "numbers.Number": NumberClass("Number", int, float, complex, TensorNumber),
    "numbers.Complex": NumberClass("Complex", int, float, complex, TensorNumber),
    "numbers.Real": NumberClass("Real", int, float, TensorNumber),
    "numbers.Rational": NumberClass("Rational", int),
    "numbers.Integral": NumberClass("Integral", int),
}
