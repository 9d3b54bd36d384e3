"""Progress bars, such as tqdm's: they are gone through as what they wrap, and what is shown with them is no matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradpath.interpreter.iteration import gone_through, iterate
from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, NativeFunction, Object, Value
from gradpath.overlays.namespace import Names
from gradpath.support.words import words


class ProgressBar(Object):
    """A progress bar around `source`, which is None where it is moved by hand."""

    __slots__ = ("source",)
    kind_name = "tqdm"

    def __init__(self, source: Value) -> None:
        self.source = source

    def parts(self) -> Sequence[Value]:
        return (self.source,)

    def gone_through(self) -> Value:
        return self if self.source is None else gone_through(self.source)

    def iterate(self, machine: Machine) -> Iterator[Value] | None:
        return None if self.source is None else iterate(machine, self.source)[0]

    def length(self, machine: Machine) -> int | None:
        if isinstance(self.source, Object):
            return self.source.length(machine)
        return len(self.source) if isinstance(self.source, (tuple, range, str)) else None

    def attribute(self, machine: Machine, name: str) -> Value:
        if name == "iterable":
            return self.source
        if name in _SHOWING:
            return NativeFunction(f"tqdm.{name}", lambda m, a: None)
        return machine.unknown("progress", ("attr", machine.id_of(self), name), (), data=True)


_SHOWING = words(
    """clear close display moveto refresh reset set_description set_description_str set_postfix set_postfix_str unpause
    update write"""
)
"""Methods that show something, and give nothing."""


class _Maker(NativeFunction):
    """A class of progress bars, or a function that makes one."""

    __slots__ = ()

    def attribute(self, machine: Machine, name: str) -> Value:
        if name in _SHOWING:
            return NativeFunction(f"tqdm.{name}", lambda m, a: None)
        return super().attribute(machine, name)


def _wrapped(machine: Machine, arguments: Arguments) -> Value:
    return ProgressBar(arguments.get(0, "iterable", None))


def _ranged(machine: Machine, arguments: Arguments) -> Value:
    return ProgressBar(machine.call(machine.builtins["range"], Arguments(arguments.positional)))


_MODULES = ("", ".asyncio", ".auto", ".autonotebook", ".gui", ".notebook", ".rich", ".std")

NAMES: Names = {
    **{f"tqdm{module}.tqdm": _Maker("tqdm", _wrapped) for module in _MODULES},
    **{f"tqdm{module}.trange": _Maker("trange", _ranged) for module in _MODULES},
    "tqdm.tqdm_notebook": _Maker("tqdm", _wrapped),
    "tqdm.notebook.tqdm_notebook": _Maker("tqdm", _wrapped),
    "tqdm.tnrange": _Maker("trange", _ranged),
}

GENERAL = True
