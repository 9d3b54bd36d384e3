"""The errors of PyTorch, with their causes."""

from __future__ import annotations

from collections.abc import Sequence

from gradpath.autograd.provenance import Presumption
from gradpath.autograd.tensor import BackwardCall, Node, Saved, Site, Tensor, Write
from gradpath.support.fast_enums import Enum


class FaultKind(str, Enum):
    """The errors that the shadow can raise; the values serve tests that compare with PyTorch."""

    TWICE = "TWICE"
    NO_GRAD = "NOGRAD"
    NOT_SCALAR = "NOT_SCALAR"
    MODIFIED = "MODIFIED"
    SAVED_DETACHED = "SAVED_DETACHED"
    LEAF_INPLACE = "LEAF_INPLACE"
    VIEW_OF_LEAF = "VIEW_OF_LEAF"
    MULTIPLE_VIEWS = "MULTIVIEW"
    VIEW_NO_GRAD = "VIEW_NOGRAD"
    VIEW_INFERENCE = "VIEW_INFERENCE"
    CUSTOM_VIEW = "CUSTOM_MULTI"
    INFERENCE_SAVED = "INF_SAVED"
    INFERENCE_INPLACE = "INF_INPLACE"
    INFERENCE_REQUIRES_GRAD = "INF_RG"
    EXPANDED_INPLACE = "EXPAND_INPLACE"
    OVERLAP = "OVERLAP"
    NO_VIEW = "NO_VIEW"
    NUMPY = "NUMPY_GRAD"
    UNUSED = "UNUSED"
    INPUT_NO_GRAD = "INPUT_NO_RG"
    NON_LEAF_FLAG = "RG_NONLEAF"
    DTYPE_FLAG = "RG_DTYPE"
    OPTIMIZER_NON_LEAF = "OPT_NONLEAF"
    OPTIMIZER_EMPTY = "OPT_EMPTY"
    RETAIN_NO_GRAD = "RETAIN_NO_RG"
    HOOK_NO_GRAD = "HOOK_NO_RG"
    DEEPCOPY = "DEEPCOPY"
    NOT_IMPLEMENTED = "NOT_IMPL"
    DETACH_VIEW = "DETACH_VIEW"
    ONCE_DIFFERENTIABLE = "ONCE_DIFF"
    PARAMETER_ASSIGNMENT = "SET_NONE_ASSIGN"
    REDUCTION = "DDP_REDUCTION"
    GRADIENT_COUNT = "FN_COUNT"
    GRADIENT_OF_PLAIN = "FN_PLAIN"
    GRADIENT_SHAPE = "FN_SHAPE"
    GRADIENT_KIND = "FN_KIND"
    NOT_APPLIED = "FN_CALLED"
    SAVED_PLAIN = "FN_SAVED_PLAIN"
    STEPPED_TWICE = "SCALER_STEPPED"
    UNSCALED_TWICE = "SCALER_UNSCALED"
    UNSCALED_LATE = "SCALER_LATE"


MESSAGES: dict[FaultKind, str] = {
    FaultKind.TWICE: "Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed).",
    FaultKind.NO_GRAD: "element 0 of tensors does not require grad and does not have a grad_fn",
    FaultKind.NOT_SCALAR: "grad can be implicitly created only for scalar outputs",
    FaultKind.MODIFIED: "one of the variables needed for gradient computation has been modified by an inplace "
    "operation",
    FaultKind.SAVED_DETACHED: "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().",
    FaultKind.LEAF_INPLACE: "a leaf Variable that requires grad is being used in an in-place operation.",
    FaultKind.VIEW_OF_LEAF: "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    FaultKind.MULTIPLE_VIEWS: "This view is the output of a function that returns multiple views. Such functions do "
    "not allow the output views to be modified inplace.",
    FaultKind.VIEW_NO_GRAD: "A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
    FaultKind.VIEW_INFERENCE: "A view was created in inference mode and is being modified inplace",
    FaultKind.CUSTOM_VIEW: "This view was created inside a custom Function (or because an input was returned as-is) "
    "and the autograd logic to handle view+inplace would override the custom backward",
    FaultKind.DETACH_VIEW: "Can't detach views in-place. Use detach() instead.",
    FaultKind.INFERENCE_SAVED: "Inference tensors cannot be saved for backward.",
    FaultKind.INFERENCE_INPLACE: "Inplace update to inference tensor outside InferenceMode is not allowed.",
    FaultKind.INFERENCE_REQUIRES_GRAD: "Setting requires_grad=True on inference tensor outside InferenceMode is not "
    "allowed.",
    FaultKind.DEEPCOPY: "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
    FaultKind.NUMPY: "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    FaultKind.NON_LEAF_FLAG: "you can only change requires_grad flags of leaf variables.",
    FaultKind.DTYPE_FLAG: "Only Tensors of floating point and complex dtype can require gradients",
    FaultKind.RETAIN_NO_GRAD: "can't retain_grad on Tensor that has requires_grad=False",
    FaultKind.HOOK_NO_GRAD: "cannot register a hook on a tensor that doesn't require gradient",
    FaultKind.PARAMETER_ASSIGNMENT: "torch.nn.Parameter or None expected",
    FaultKind.OPTIMIZER_NON_LEAF: "can't optimize a non-leaf Tensor",
    FaultKind.OPTIMIZER_EMPTY: "optimizer got an empty parameter list",
    FaultKind.REDUCTION: "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss.",
    FaultKind.GRADIENT_COUNT: "returned an incorrect number of gradients",
    FaultKind.GRADIENT_OF_PLAIN: "returned a gradient different than None at position",
    FaultKind.GRADIENT_SHAPE: "returned an invalid gradient",
    FaultKind.GRADIENT_KIND: "expected Variable or None",
    FaultKind.NOT_APPLIED: "Legacy autograd function with non-static forward method is deprecated. Please use "
    "new-style autograd function with static forward method.",
    FaultKind.SAVED_PLAIN: "save_for_backward can only save variables",
    FaultKind.STEPPED_TWICE: "step() has already been called since the last update().",
    FaultKind.UNSCALED_TWICE: "unscale_() has already been called on this optimizer since the last update().",
    FaultKind.UNSCALED_LATE: "unscale_() is being called after step().",
}
"""PyTorch's words for the kinds that a rule quotes."""


class AutogradError(Exception):
    """An error that PyTorch raises, with its cause.

    Which attributes are set depends on the kind: `node` (freed, or whose saved tensor changed), `saved` and `write`
    (MODIFIED), `tensor` (the root, or the tensor written in place), `earlier` (the call that freed the node), `call`
    (the call that raised), `index` (the place among the inputs of `autograd.grad` or of a custom Function, from 0),
    `inputs` (what a refused operation was given, or the parameters that got no gradient). `at` is the site of what is
    wrong with a custom Function, whose `backward` returned `count` gradients, or of the earlier call of a gradient
    scaler. `presumed` are the presumptions that it depends on.
    """

    def __init__(  # noqa: PLR0913
        self,
        kind: FaultKind,
        *,
        tensor: Tensor | None = None,
        node: Node | None = None,
        saved: Saved | None = None,
        write: Write | None = None,
        earlier: BackwardCall | None = None,
        call: BackwardCall | None = None,
        index: int = 0,
        inputs: Sequence[Tensor] = (),
        at: Site = None,
        count: int = 0,
    ) -> None:
        super().__init__(MESSAGES.get(kind, kind.value))
        self.kind = kind
        self.tensor = tensor
        self.node = node
        self.saved = saved
        self.write = write
        self.earlier = earlier
        self.call = call
        self.index = index
        self.inputs = inputs
        self.at = at
        self.count = count
        self.presumed: tuple[Presumption, ...] = ()
