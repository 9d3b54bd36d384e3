"""Writing in place: what PyTorch refuses, and what a write makes of the graph of a tensor and of its base.

Follows `torch/csrc/autograd/VariableTypeUtils.h` (check_inplace) and `variable.cpp` (rebase_history), as observed in
PyTorch 2.13.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.behaviour import Behaviour
from gradpath.autograd.edges import Edges
from gradpath.autograd.errors import AutogradError, FaultKind
from gradpath.autograd.graph import Autograd, Inputs
from gradpath.autograd.tensor import Creation, Node, Site, Tensor

_RESHAPING = ("t_", "unsqueeze_", "squeeze_")
"""Writes that change no element."""

_OVERLAP_ALLOWED = ("index assignment", "zero_", "fill_", *_RESHAPING)
"""Writes that PyTorch allows on an expanded tensor, whose elements share memory."""

_POINTWISE = (".add_", ".sub_", ".mul_", ".div_", ".pow_", ".copy_", ".lerp_")
"""Writes whose source must not overlap their target, unless both have the same layout."""


def write(autograd: Autograd, name: str, behaviour: Behaviour, written: str, inputs: Inputs) -> Tensor:
    """Run an in-place operation on `inputs[written][0]`; gives that tensor back. Raises what PyTorch raises."""
    tensor = inputs[written][0]
    site = autograd.recorder.site()
    everything = [each for tensors in inputs.values() for each in tensors]
    tracked = autograd.grad_enabled and not tensor.inference and any(each.requires_grad for each in everything)
    if tracked and any(each.certainly_requires_grad for each in everything):
        _check_inplace(autograd, tensor, everything)
    sure = tensor.certainly_requires_grad
    edges = autograd.edges(behaviour, inputs) if tracked else None
    node = None if edges is None else _written_node(autograd, name, behaviour, written, inputs, edges, site)
    if tensor.expanded and not name.endswith(_OVERLAP_ALLOWED) and not _copies_onto_itself(name, everything):
        raise AutogradError(FaultKind.EXPANDED_INPLACE, tensor=tensor)
    if name.endswith(_POINTWISE) and any(tensor.overlaps_partly(each) for each in everything):
        raise AutogradError(FaultKind.OVERLAP, tensor=tensor)
    base_edge = autograd.edge(tensor.base) if node is not None and tensor.base is not None else None
    autograd.bump(tensor, name, everything if node is None else ())
    if node is None or edges is None:
        return tensor
    if tensor.base is not None:
        _write_through(node, base_edge, written)
        if tensor.base.expanded or (tensor.expanded and not name.endswith(_RESHAPING)):
            # The backward copies into memory laid out like the part, where elements then share memory.
            node.custom = FaultKind.EXPANDED_INPLACE
        tensor.base.node = node
        node.outputs.append(tensor.base)
        autograd.take(tensor, tensor.base, "as_strided", site)
        tensor.seen_version = tensor.storage.version
        autograd.save(node, "out0", behaviour, edges, [tensor])
    else:
        autograd.save(node, "out0", behaviour, edges, [tensor])
        tensor.node = node
        node.outputs.append(tensor)
    if not sure and (tensor.is_open or (node.is_open and any(each.is_open for each in everything))):
        tensor.provenance = node.provenance  # What is written may have no graph, and so have what it is written into.
        if tensor.base is not None:
            tensor.base.provenance = node.provenance
    autograd.recorder.built(node, inputs)
    return tensor


def _written_node(
    autograd: Autograd, name: str, behaviour: Behaviour, written: str, inputs: Inputs, edges: Edges, site: Site
) -> Node:
    node = edges.meet(name, behaviour, site)
    for parameter, tensors in inputs.items():
        if parameter != written or inputs[written][0].requires_grad:
            autograd.save(node, parameter, behaviour, edges, tensors)
    return node


def _check_inplace(autograd: Autograd, tensor: Tensor, everything: Sequence[Tensor]) -> None:
    if tensor.aliasing_unsure and (tensor.node is not None or tensor.base is not None):
        if tensor.creation is Creation.MULTIPLE and tensor.requires_grad and not tensor.is_open:
            autograd.refuse_view(tensor, tensor, everything)  # One of several views, whatever they are views of.
        return  # Without either it is a leaf, whether it is a copy or the tensor that was converted.
    if tensor.base is not None:
        autograd.refuse_view(tensor, tensor, everything)
    if tensor.is_open:
        return
    if tensor.base is not None and tensor.requires_grad and autograd.is_leaf(tensor.base):
        raise AutogradError(FaultKind.VIEW_OF_LEAF, tensor=tensor, inputs=everything)
    if tensor.requires_grad and tensor.node is None:
        raise AutogradError(FaultKind.LEAF_INPLACE, tensor=tensor, inputs=everything)


def _write_through(node: Node, base_edge: Node | None, written: str) -> None:
    """Make the node of a write one that writes a part of a base (`CopySlices`)."""
    own = [index for index, name in enumerate(node.parameters) if name != written]
    edges = [node.edges[index] for index in own]
    names = [node.parameters[index] for index in own]
    if base_edge is not None:
        edges.insert(0, base_edge)
        names.insert(0, written)
    node.name = "CopySlices"
    node.holds = True
    node.edges, node.parameters = tuple(edges), tuple(names)


def _copies_onto_itself(name: str, everything: Sequence[Tensor]) -> bool:
    """True if a copy may find its source where it writes: then it ends early (aten/src/ATen/native/Copy.cpp)."""
    return name.endswith(".copy_") and all(each.storage is everything[0].storage for each in everything)
