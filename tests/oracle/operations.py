"""The breadth of PyTorch's operations: each is rare by itself, together they are a good share of all."""

from __future__ import annotations

from .draft import Template

METHODS = [
    "acos",
    "acosh",
    "arcsin",
    "arctan",
    "asin",
    "asinh",
    "atanh",
    "ceil",
    "cosh",
    "deg2rad",
    "digamma",
    "erfc",
    "erfinv",
    "exp2",
    "frac",
    "i0",
    "lgamma",
    "log10",
    "log2",
    "logit",
    "negative",
    "positive",
    "rad2deg",
    "sgn",
    "sinc",
    "sinh",
    "tan",
    "trunc",
    "fix",
    "alias_copy",
    "resolve_conj",
    "resolve_neg",
]

BINARY = [
    "atan2",
    "copysign",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "remainder",
    "xlogy",
    "multiply",
    "subtract",
    "true_divide",
]

ACTIVATIONS = [
    "celu",
    "elu",
    "gelu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "rrelu",
    "dropout",
    "alpha_dropout",
    "feature_alpha_dropout",
]

TO_SCALAR = [
    "amax",
    "amin",
    "max",
    "mean",
    "median",
    "min",
    "nanmean",
    "nansum",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
    "nanmedian",
]

ALONG = ["amax", "amin", "mean", "nansum", "nanmean", "prod", "std", "sum", "var", "logsumexp", "norm"]


LOSSES = ["l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "kl_div"]


def _table() -> dict[str, tuple[Template, ...]]:
    out: dict[str, list[Template]] = {"S": [], "V": [], "M": []}

    def add(kind: str, text: str, weight: float = 0.12) -> None:
        out[kind].append(Template("rare", weight, text))

    for kind in "SVM":
        for name in METHODS:
            add(kind, f"{{{kind}}}.{name}()" if name != "alias_copy" else f"torch.alias_copy({{{kind}:raw}})")
        for name in BINARY:
            add(kind, f"torch.{name}({{{kind}:raw}}, {{{kind}:raw}})")
        for name in ACTIVATIONS:
            rest = ", 0.1, 0.0" if name == "threshold" else ""
            add(kind, f"F.{name}({{{kind}:raw}}{rest})")
    for name in TO_SCALAR:
        add("S", f"{{M}}.{name}()")
        add("S", f"torch.{name}({{V:raw}})")
    for name in ALONG:
        add("V", f"{{M}}.{name}(dim={{dim:raw}})")
        add("V", f"torch.{name}({{M:raw}}, dim=0)")
        add("M", f"{{M}} - {{M}}.{name}(dim=1, keepdim=True)", 0.06)
    for name in ("max", "min", "median", "mode", "cummax", "cummin", "sort"):
        one_row = name in ("max", "min", "median", "mode")
        add("V" if one_row else "M", f"{{M}}.{name}(dim=1)[0]")
        add("V" if one_row else "M", f"torch.{name}({{M:raw}}, dim=0).values")
    for name in LOSSES:
        add("S", f"F.{name}({{M:raw}}, {{M:raw}})")
        add("S", f'F.{name}({{M:raw}}, {{M}}.detach(), reduction="sum")')
    for kind, text in _SHAPED:
        add(kind, text, 0.2)
    return {kind: tuple(found) for kind, found in out.items()}


_SHAPED: tuple[tuple[str, str], ...] = (
    ("V", "torch.var_mean({M:raw}, dim=0)[0]"),
    ("V", "torch.std_mean({M:raw}, dim=1)[1]"),
    ("V", "{V}.topk(3).values"),
    ("V", "{M}.kthvalue(2, dim=1).values"),
    ("V", "{V}.diff(prepend={S}.view(1))"),
    ("V", "{V}.logcumsumexp(0)"),
    ("V", "{V}.index_add(0, {idx:raw}, {V:raw})"),
    ("V", "{V}.index_copy(0, {idx:raw}, {V:raw})"),
    ("V", "{V}.scatter(0, {idx:raw}, {V:raw})"),
    ("V", "{V}.take({idx:raw})"),
    ("V", "{V}.masked_scatter({maskV:raw}, {V:raw})"),
    ("V", "torch.take_along_dim({V:raw}, {idx:raw})"),
    ("V", "torch.hstack([{S}.view(1), {V}[1:]])"),
    ("V", "torch.concat([{V}[:2], {V}[2:]])"),
    ("V", "torch.ravel({V:raw})"),
    ("V", "{V}.unfold(0, 3, 1).squeeze(0)"),
    ("V", "{V}.as_strided((3,), (1,))"),
    ("V", "{V}.tensor_split(1)[0]"),
    ("V", "{V}.split([1, 2])[1].sum() * {V}"),
    ("V", "{M}.unsafe_chunk(3)[0].squeeze(0)"),
    ("V", "{M}.movedim(0, 1)[0]"),
    ("V", 'torch.einsum("ij->i", {M:raw})'),
    ("V", "torch.linalg.vector_norm({M:raw}, dim=0)"),
    ("V", "torch.nn.functional.normalize({V:raw}, dim=0)"),
    ("V", "F.pairwise_distance({M:raw}, {M:raw})"),
    ("V", "F.glu(torch.cat([{V:raw}, {V:raw}, {V:raw}, {V:raw}, {V:raw}, {V:raw}]))[:3]"),
    ("V", "F.layer_norm({V:raw}, (3,), {V:raw}, {V:raw})"),
    ("V", "F.bilinear({V:raw}, {V:raw}, {M}.expand(3, 3, 3))"),
    ("V", "F.embedding({idx:raw}, {M:raw})[0]"),
    ("V", "F.gumbel_softmax({V:raw}, dim=0)"),
    ("V", "F.softmin({V:raw}, dim=0)"),
    ("M", "F.embedding({idx:raw}, {M:raw})"),
    ("M", "F.one_hot({idx:raw}, 3).float() @ {M}"),
    ("M", "torch.chain_matmul({M:raw}, {M:raw})"),
    ("M", "torch.linalg.multi_dot([{M:raw}, {M:raw}, {M:raw}])"),
    ("M", "torch.tensordot({M:raw}, {M:raw}, dims=1)"),
    ("M", "torch.kron({M}[:1, :1], {M:raw})"),
    ("M", "torch.addr({M:raw}, {V:raw}, {V:raw})"),
    ("M", "torch.addbmm({M:raw}, {M}[None], {M}[None])"),
    ("M", "torch.matrix_power({M:raw}, 2)"),
    ("M", "torch.linalg.matrix_exp({M:raw})"),
    ("M", "torch.block_diag({M}[:2, :2], {S}.view(1, 1))"),
    ("M", "torch.column_stack([{V:raw}, {V:raw}, {V:raw}])"),
    ("M", "torch.row_stack([{V:raw}, {V:raw}, {V:raw}])"),
    ("M", "torch.stack({M}.unbind(1), dim=1)"),
    ("M", "torch.cat({M}.split(1), dim=0)"),
    ("M", "torch.hstack({M}.hsplit(3))"),
    ("M", "{M}.rot90()"),
    ("M", "{M}.fliplr()"),
    ("M", "{M}.flipud()"),
    ("M", "{M}.repeat_interleave(1, dim=0)"),
    ("M", "{M}.tile(1, 1)"),
    ("M", "{M}.index_add(0, {idx:raw}, {M:raw})"),
    ("M", "{M}.index_copy(0, {idx:raw}, {M:raw})"),
    ("M", "{M}.index_fill(1, {idx:raw}, 0.0)"),
    ("M", "{M}.index_put(({idx:raw},), {M:raw})"),
    ("M", "{M}.masked_scatter({maskM:raw}, {M:raw})"),
    ("M", "{M}.diagonal_scatter({V:raw})"),
    ("M", "{M}.select_scatter({V:raw}, 0, 1)"),
    ("M", "{M}.slice_scatter({M}[:1], 0, 0, 1)"),
    ("M", "{M}.cumprod(dim=1)"),
    ("M", "{M}.logcumsumexp(dim=0)"),
    ("M", "{M}.renorm(2, 0, 1.0)"),
    ("M", "{M}.view(1, 3, 3).squeeze(0)"),
    ("M", "{M}.unflatten(1, (3, 1)).squeeze(2)"),
    ("M", "{M}.ravel().view(3, 3)"),
    ("M", "{M}.unfold(0, 3, 1).squeeze(0)"),
    ("M", "{M}.as_strided((3, 3), (3, 1))"),
    ("M", "{M}.clone(memory_format=torch.contiguous_format)"),
    ("M", "{M}.movedim(0, 1)"),
    ("M", "{M}.adjoint()"),
    ("M", "{V}.broadcast_to(3, 3)"),
    ("M", "torch.broadcast_tensors({M:raw}, {V:raw})[1]"),
    ("M", 'torch.meshgrid({V:raw}, {V:raw}, indexing="ij")[0]'),
    ("M", "torch.cartesian_prod({V:raw}, {V:raw})[:3].mean() * {M}"),
    ("M", "torch.diag_embed({V:raw})"),
    ("M", "torch.rot90({M:raw})"),
    ("M", "torch.corrcoef({M:raw})"),
    ("M", "torch.dist({M:raw}, {M:raw}) * {M}"),
    ("M", "F.rms_norm({M:raw}, (3,))"),
    ("M", "F.group_norm({M:raw}, 1)"),
    ("M", "F.layer_norm({M:raw}, (3,), {V:raw}, {V:raw})"),
    ("M", "F.instance_norm({M}[None])[0]"),
    ("M", "F.avg_pool1d({M:raw}, 1)"),
    ("M", "F.max_pool1d({M:raw}, 1)"),
    ("M", "F.adaptive_avg_pool1d({M:raw}, 3)"),
    ("M", "F.adaptive_max_pool1d({M:raw}, 3)"),
    ("M", "F.interpolate({M}[None], size=3)[0]"),
    ("M", "F.conv2d({M}[None, None], {M}[None, None], padding=1)[0, 0]"),
    ("M", "F.conv_transpose1d({M:raw}, {M}[:, :, None])"),
    ("M", "F.prelu({M:raw}, {S}.view(1))"),
    ("M", "F.normalize({M:raw}, p=1, dim=0)"),
    ("M", "F.softmin({M:raw}, dim=1)"),
    ("M", "F.gumbel_softmax({M:raw}, hard=True)"),
    ("M", "F.scaled_dot_product_attention({M:raw}, {M:raw}, {M:raw}, is_causal=True)"),
    ("M", "F.dropout1d({M}[None], 0.5)[0]"),
    ("M", "F.unfold({M}[None, None], 1)[0].view(3, 3)"),
    ("M", "F.pixel_shuffle({M}[None, None], 1)[0, 0]"),
    ("M", "{net:var}({M:raw}).requires_grad_()"),
    ("M", "{M}.half().float()"),
    ("M", "{M}.to(torch.bfloat16).to(torch.float32)"),
    ("M", "{M}.to({M:raw})"),
    ("M", '{M}.to("cpu", torch.float32, copy=True)'),
    ("S", "torch.tensordot({M:raw}, {M:raw}, dims=2)"),
    ("S", "torch.vdot({V:raw}, {V:raw})"),
    ("S", "torch.linalg.det({M:raw})"),
    ("S", "torch.linalg.matrix_norm({M:raw})"),
    ("S", "torch.linalg.slogdet({M:raw})[1]"),
    ("S", "torch.trapezoid({V:raw})"),
    ("S", "torch.dist({V:raw}, {V:raw})"),
    ("S", "torch.var_mean({V:raw})[0]"),
    ("S", "torch.aminmax({V:raw}).max"),
    ("S", "{V}.quantile(0.5)"),
    ("S", "{V}.take({idx:raw}).sum()"),
    ("S", "{M}.view(-1)[4]"),
    ("S", "{M}.flatten().unbind()[2]"),
    ("S", "{M}[0, 0:1].squeeze()"),
    ("S", "{V}[{maskV:raw}].sum()"),
    ("S", "{M}[{maskM:raw}].mean()"),
    ("S", "{M}.masked_select({maskM:raw}).sum()"),
    ("S", "F.cross_entropy({M:raw}, {idx:raw}, label_smoothing=0.1)"),
    ("S", "F.cross_entropy({M:raw}, F.softmax({M:raw}, dim=1))"),
    ("S", "F.multi_margin_loss({M:raw}, {idx:raw})"),
    ("S", "F.multilabel_soft_margin_loss({M:raw}, {maskM}.float())"),
    ("S", "F.triplet_margin_loss({M:raw}, {M:raw}, {M:raw})"),
    ("S", "F.margin_ranking_loss({V:raw}, {V:raw}, {V}.sign())"),
    ("S", "F.gaussian_nll_loss({V:raw}, {V:raw}, torch.ones(3))"),
    ("S", "nn.CrossEntropyLoss()({M:raw}, {idx:raw})"),
    ("S", 'nn.MSELoss(reduction="sum")({M:raw}, {M:raw})'),
    ("S", "nn.BCEWithLogitsLoss()({V:raw}, {maskV}.float())"),
    ("S", 'nn.KLDivLoss(reduction="batchmean")({M:raw}, {M:raw})'),
    ("S", "{S}.squeeze()"),
    ("S", "{S}.view(1).squeeze(0)"),
    ("S", "torch.squeeze({S}.unsqueeze(0))"),
    ("S", "{S}.type(torch.float32)"),
)

OPERATIONS = _table()
