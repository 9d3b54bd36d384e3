"""Lightning Fabric: `setup` hands models and optimizers back, `backward(loss)` is `loss.backward()`."""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.optim import clip_module


def _setup(machine: Machine, arguments: Arguments) -> Value:
    """`setup(module, *optimizers)`: options such as `move_to_device` are no part of it."""
    module = arguments.get(0, "module", None)
    optimizers = arguments.positional[1:]
    return (module, *optimizers) if optimizers else module


def _launch(machine: Machine, arguments: Arguments) -> Value:
    function, *values = arguments.positional or [None]
    return None if function is None else machine.call(function, Arguments([_fabric(machine, arguments), *values]))


_METHODS = {
    "setup": _setup,
    "setup_module": engines.first,
    "setup_optimizers": engines.prepared,
    "setup_dataloaders": engines.prepared,
    "to_device": lambda m, a: a.get(0, "obj", None),
    "backward": engines.backward,
    "clip_gradients": clip_module,
    "launch": _launch,
    **dict.fromkeys(("all_gather", "all_reduce", "broadcast"), engines.gathered),
    **dict.fromkeys(
        ("autocast", "no_backward_sync", "sharded_model", "init_module", "init_tensor", "rank_zero_first"),
        engines.block,
    ),
    **dict.fromkeys(
        ("print", "log", "log_dict", "barrier", "save", "load_raw", "seed_everything", "call"), engines.nothing
    ),
}


def _fabric(machine: Machine, arguments: Arguments) -> Value:
    return engines.Helper("Fabric", _METHODS)


NAMES: Names = dict.fromkeys(
    ("lightning.Fabric", "lightning.fabric.Fabric", "lightning.fabric.fabric.Fabric", "lightning_fabric.Fabric"),
    _fabric,
)

FOLLOWED = True
