"""Variables whose names promise what their uses deny: matrices that are called `E`, settings that are called `opt`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set

from gradpath.overlays.presumed.places import place_of
from gradpath.overlays.presumed.roles import TENSOR, role_of_name
from gradpath.source.index import inside, methods_called
from gradpath.source.nodes import noted
from gradpath.support.words import words


def tensors_called_models(body: ast.AST, settled: Set[str]) -> dict[str, str]:
    """The role of each variable that only its name makes a model, and that a body uses as a tensor."""
    used = _used_as_tensors(body) - settled
    return {name: TENSOR for name in used if role_of_name(name) == "model"}


@noted
def _used_as_tensors(body: ast.AST) -> frozenset[str]:
    """The variables that a body indexes along several dimensions, or asks for what only tensors have."""
    found = [each.value for each in inside(body, ast.Subscript) if _is_grid(each.slice)]
    found += [each.value for each in inside(body, ast.Attribute) if each.attr in ("data", "shape")]
    found += [of for of, method, _ in methods_called(body) if method in _OF_TENSORS]
    return frozenset(each.id for each in found if isinstance(each, ast.Name))


def _is_grid(index: ast.expr) -> bool:
    """True if an index has a place for each of several dimensions: `x[:, 0]`, `x[..., 1]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else ()
    return any(isinstance(each, ast.Slice) or (isinstance(each, ast.Constant) and each.value is ...) for each in parts)


_OF_TENSORS = words("clone dim permute reshape size squeeze transpose unsqueeze view")
"""Methods of tensors that modules lack."""


def settings_called_optimizers(every: Iterable[ast.AST]) -> list[str]:
    """The places that are called like an optimizer, and read like none."""
    return list(filter(None, map(_settings, every)))


def _settings(node: ast.AST) -> str:
    """The place that is called like an optimizer, and read like none: `opt.batch_size`, `opt["train"]["lr"]`."""
    match node:
        case ast.Attribute(value=owner, attr=name) if name not in _OF_OPTIMIZERS:
            place = place_of(owner)
        case ast.Subscript(value=ast.Subscript(value=owner, slice=ast.Constant(value=str())), slice=ast.Constant()):
            place = place_of(owner)
        case _:
            return ""
    return place if role_of_name(place.rpartition(".")[2]) == "optimizer" else ""


_OF_OPTIMIZERS = words(
    "add_param_group defaults load_state_dict optimizer is_second_order param_groups state state_dict step zero_grad"
)
"""The attributes of `torch.optim.Optimizer`, of those that wrap one, and that which timm gives to some."""
