"""Random training programs: modules with parts, optimizers, and loops that back-propagate, right and wrong.

A program marks by `START` where training begins and by `END` where it is over: there both sides are asked which
parameters there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from ..draft import Frame, Name
from ..wrapping import wrapped
from .helpers import top_of
from .making import CHANGES, LITERALS, MAKERS, PARTS
from .pen import Pen, new
from .training import train

START = "torch.manual_seed(1)"
END = 'print("done")'

ATTRIBUTES = ("first", "second", "head", "body", "gain", "proj", "gate", "core", "tail", "extra")
CLASSES = ("Net", "Encoder", "Critic", "Policy")


@dataclass(frozen=True, slots=True)
class Program:
    """A program with the seed that it came from."""

    seed: str
    text: str


def attempts(seed: int, index: int) -> list[str]:
    """The seeds of the programs that are tried for the number `index` of a series: the first that runs is taken."""
    return [f"learning:{seed}:{index}:{attempt}" for attempt in range(60)]


def write(name: str) -> Program:
    """The program of a seed, which may not run: definitions, modules, optimizers, and the training."""
    pen = new(Random(name))
    for cls in CLASSES[: pen.random.choice((0, 1, 1, 2))]:
        _class(pen, cls)
    start = len(pen.draft.state.lines)
    _modules(pen)
    _changes(pen, 0.35)
    for _ in range(pen.random.choice((1, 1, 1, 2, 2, 3))):
        _optimizer(pen)
    _changes(pen, 0.3)
    state = _state(pen)
    made = len(pen.draft.state.lines)
    pen.emit(START)
    train(pen, state)
    if pen.chance(0.15):
        train(pen, state)
    pen.emit(END)
    body = "\n".join(_shaped(pen, start, made)) + "\n"
    return Program(name, top_of(body) + body)


def _shaped(pen: Pen, start: int, made: int) -> list[str]:
    """The lines, those from the modules or from the training on in a function or a class."""
    lines = list(pen.draft.state.lines)
    if pen.chance(0.5):
        first = pen.random.choice((start, made))
        names = [name for name in pen.draft.visible() if name.isidentifier() and name not in pen.parts]
        before = [name for name in names if any(line.startswith(f"{name} = ") for line in lines[:first])]
        return wrapped(pen.random, lines, first, before) or lines
    return lines


def _class(pen: Pen, name: str) -> None:
    draft = pen.draft
    others = [("net", f"{other}()") for other in pen.parts]
    attributes = pen.random.sample(ATTRIBUTES, pen.random.choice((1, 2, 2, 3, 4)))
    parts = [(attribute, *pen.random.choice((*PARTS, *others))) for attribute in attributes]
    pen.emit(f"class {name}(nn.Module):")
    draft.depth += 1
    pen.emit("def __init__(self):")
    draft.depth += 1
    pen.emit("super().__init__()")
    for attribute, kind, made in parts:
        pen.emit(f'self.register_buffer("{attribute}", {made})' if kind == "buffer" else f"self.{attribute} = {made}")
        if kind == "net" and pen.chance(0.04):
            pen.emit(f"self.{attribute}.requires_grad_(False)")
    draft.depth -= 1
    pen.emit("")
    if pen.chance(0.04):
        pen.emit("@torch.no_grad()")
    pen.emit("def forward(self, x):")
    draft.depth += 1
    outer = draft.state
    draft.state = replace(outer, frames=(*outer.frames, Frame({"x": Name("H", "graph")})))
    for attribute, kind, made in parts:
        _part(pen, f"self.{attribute}", kind, made)
    _forward(pen, parts)
    draft.state = replace(draft.state, frames=outer.frames, calls=outer.calls, loops=0)
    draft.depth = 0
    pen.emit("")
    pen.parts[name] = [(attribute, kind) for attribute, kind, _ in parts]


def _forward(pen: Pen, parts: Sequence[tuple[str, str, str]]) -> None:
    for attribute, kind, _ in parts:
        if kind == "net" and pen.chance(0.6):
            pen.emit(f"x = self.{attribute}(x)")
    for _ in range(pen.random.choice((0, 1, 1, 2, 3))):
        pen.draft.statement()
    for attribute, kind, _ in parts:
        if kind == "list" and pen.chance(0.6):
            pen.emit(f"for layer in self.{attribute}:")
            pen.emit(f"    x = layer(x){pen.random.choice(('', '.tanh()', ''))}")
        if kind == "dict" and pen.chance(0.6):
            pen.emit(f"for layer in self.{attribute}.values():")
            pen.emit("    x = x + layer(x)")
    if not pen.say("return {H:op}"):
        pen.emit("return x")


def _part(pen: Pen, path: str, kind: str, made: str) -> None:
    """Make a part of a module usable by its path."""
    draft = pen.draft
    match kind:
        case "net":
            draft.bind(path, "net", "mid")
            if made == "nn.Linear(3, 3)":
                pen.call(f"F.linear({{H:raw}}, {path}.weight<<||.detach()|.t()|.data>>, {path}.bias)", 0.3)
                pen.call(f"{{H}} @ {path}.weight<<|.T|.detach()>>", 0.2)
        case "V":
            draft.bind(path, "V", "param")
        case "buffer":
            draft.bind(path, "V", "mid")
        case "table":
            pen.call(f"{path}({{H}}.argmax(dim=1))", 2.0)
            pen.call(f"{path}.weight[{{H}}.argmax(dim=1)]<<||.detach()>>", 0.5)
        case "pair":
            pen.call(f"{path}({{H:raw}})[<<0|1>>]", 2.0)
            pen.call(f"sum({path}({{H:raw}}))", 0.5)
        case "rnn":
            pen.call(f"{path}({{H}}.unsqueeze(0))[0].squeeze(0)", 2.0)
        case "list":
            draft.bind(f"{path}[0]", "net", "mid")
            draft.bind(f"{path}[1]", "net", "mid")
            draft.bind(path, "list", "mid")
        case "dict":
            draft.bind(f'{path}["a"]', "net", "mid")


def _modules(pen: Pen) -> None:
    draft = pen.draft
    for name, parts in pen.parts.items():
        for _ in range(pen.random.choice((1, 1, 2))):
            net = draft.fresh("net")
            pen.emit(f"{net} = {name}()")
            draft.bind(net, "net", "mid")
            for attribute, kind in parts:
                path = f"{net}.{attribute}"
                if kind == "net":
                    draft.bind(path, "part", "mid")
                    pen.call(f"{path}({{H:raw}})", 0.5)
                elif kind == "V":
                    draft.bind(path, "V", "param")
    for _ in range(pen.random.choice((0, 1, 1, 2, 2))):
        pen.pick(MAKERS)
    if not any(name.kind == "net" for name in draft.visible().values()):
        pen.say("{net:fresh} = nn.Linear(3, 3)")


def _changes(pen: Pen, probability: float) -> None:
    while pen.chance(probability):
        pen.pick(CHANGES)


def _optimizer(pen: Pen) -> None:
    template = pen.random.choice(LITERALS["optimizer"]).replace("{p}", "{plist:raw}")
    opt = pen.bound_by(f"{{opt:fresh}} = torch.optim.{template}")
    if opt is not None:
        pen.opts.append(opt)
    if pen.opts and pen.chance(0.06):
        pen.say(f'{pen.random.choice(pen.opts)}.add_param_group({{{{"params": {{plist:raw}}}}}})')
    if pen.opts and pen.chance(0.05):
        pen.emit(f"scheduler = torch.optim.lr_scheduler.StepLR({pen.opts[-1]}, 1)")


def _state(pen: Pen) -> dict[str, str]:
    """What is there before the loop besides: a target network, totals, a carried state."""
    found: dict[str, str] = {}
    draft = pen.draft
    if pen.chance(0.15):
        net = pen.net()
        target = draft.fresh("target")
        pen.emit(f"{target} = copy.deepcopy({net}){pen.random.choice(('', '.eval()', '.requires_grad_(False)'))}")
        draft.bind(target, "net", "mid")
        found |= {"target": target, "source": net}
    if pen.chance(0.2):
        pen.emit("total = 0.0")
        found["total"] = "total"
    if pen.chance(0.1):
        pen.emit("state = torch.zeros(4, 3)")
        draft.bind("state", "H", "mid")
        found["state"] = "state"
    if pen.chance(0.1):
        pen.emit("history = []")
        found["history"] = "history"
    if pen.chance(0.08):
        pen.emit("memory = [torch.randn(4, 3)]")
        pen.call("memory[-1]", 1.0)
        pen.call("torch.stack(memory).mean(dim=0)", 1.0)
        found["memory"] = "memory"
    return found
