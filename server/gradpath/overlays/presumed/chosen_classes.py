"""Optimizers whose class a setting chooses: whichever it is, they are given the same parameters."""

from __future__ import annotations

from gradpath.interpreter.containers import List
from gradpath.interpreter.mappings import Dict
from gradpath.interpreter.values import Unknown
from gradpath.overlays.namespace import Namespace
from gradpath.overlays.torch.optim import TORCH_OPTIM, OptimizerClass


def optimizer_class(unknown: Unknown) -> OptimizerClass | None:
    """One of the classes that an unknown value may be, if all are classes of optimizers.

    It is that of its default, the attribute of `torch.optim` under an unknown name, or any item of a table.
    """
    if isinstance(unknown.hint, OptimizerClass):
        return unknown.hint
    match unknown.sources:
        case [Namespace(name="torch.optim")]:
            return TORCH_OPTIM["SGD"]
        case [Dict() | List() as table, *_]:
            candidates = [each for each in table.parts() if each is not unknown]
            classes = [each for each in candidates if isinstance(each, OptimizerClass)]
            return classes[0] if classes and len(classes) == len(candidates) else None
    return None
