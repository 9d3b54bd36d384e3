"""The expressions: tensors of three shapes, and conditions."""

from __future__ import annotations

from .tables import expressions, merged, rows

_ANY = merged(
    expressions(
        "arith",
        "SVM",
        """
4| {T} + {T}
3| {T} - {T}
5| {T} * {T}
1.5| {T} / {T}
3| {T} * {num}
2| {T} + {num}
1| {num} * {T} + {T}
1| {T} - {num}
1| {num} - {T}
1| {T} / {num}
0.7| {num} / ({T} + 1)
1.5| {T} ** 2
0.4| {T} ** 3
0.3| {T} ** 0.5
0.3| {num} ** {T}
0.3| {T} ** {T}
1| -{T}
0.4| {T} * {float}
0.3| {T} + {int}
0.4| {T} * {int}
0.5| torch.mul({T:raw}, {T:raw})
0.4| torch.add({T:raw}, {T:raw}, alpha=2)
0.3| torch.sub({T:raw}, {T:raw})
0.3| torch.div({T:raw}, {T:raw})
0.1| {T} // 1
0.2| {T} % 2
0.3| {T}.add({T:raw})
0.3| {T}.mul({T:raw})
0.2| {T}.sub({num})
0.2| {T}.pow(2)
0.2| torch.pow({T:raw}, 2)
0.2| {T}.addcmul({T:raw}, {T:raw})
0.2| torch.lerp({T:raw}, {T:raw}, 0.5)
""",
    ),
    expressions(
        "unary",
        "SVM",
        """
3| {T}.exp()
2| {T}.sin()
0.6| {T}.cos()
2| {T}.tanh()
2| {T}.sigmoid()
2| {T}.relu()
1| {T}.abs()
0.5| {T}.neg()
0.7| {T}.sqrt()
0.6| {T}.log()
1| {T}.square()
0.5| {T}.reciprocal()
0.4| {T}.rsqrt()
0.4| {T}.round()
0.3| {T}.sign()
0.3| {T}.floor()
0.4| {T}.erf()
0.3| {T}.expm1()
0.3| {T}.log1p()
1| {T}.clamp(min=0.0)
0.6| {T}.clamp(-1, 1)
0.3| torch.clamp({T:raw}, max=1.0)
1| torch.exp({T:raw})
1| torch.tanh({T:raw})
1| torch.sigmoid({T:raw})
0.5| torch.sqrt({T:raw})
0.5| torch.abs({T:raw})
1.5| F.relu({T:raw})
0.5| F.gelu({T:raw})
0.5| F.silu({T:raw})
0.4| F.elu({T:raw})
0.5| F.leaky_relu({T:raw})
0.4| F.softplus({T:raw})
0.3| F.logsigmoid({T:raw})
0.2| F.hardtanh({T:raw})
0.2| F.mish({T:raw})
0.2| F.relu6({T:raw})
0.5| F.dropout({T:raw}, 0.5)
0.3| F.dropout({T:raw}, p=0.5, training=<<True|False>>)
0.2| torch.nan_to_num({T:raw})
0.3| torch.atan({T:raw})
0.2| torch.sinh({T:raw})
0.2| torch.trunc({T:raw})
""",
    ),
    expressions(
        "copy",
        "SVM",
        """
2| {T}.clone()
0.4| torch.clone({T:raw})
0.7| {T}.contiguous()
0.5| {T}.float()
0.4| {T}.to(torch.float32)
0.3| {T}.double().float()
0.3| {T}.cpu()
0.3| {T}.to("cpu")
0.3| {T}.view_as({T:raw})
0.3| {T}.reshape({size})
0.2| {T}.expand_as({T:raw})
0.2| {T}.type_as({T:raw})
0.2| torch.as_tensor({T:raw})
""",
    ),
    expressions(
        "detach",
        "SVM",
        """
3| {T}.detach()
1| {T}.data
0.7| {T}.detach().clone()
0.6| {T}.clone().detach()
0.4| {T}.detach().requires_grad_()
0.3| {T}.clone().detach().requires_grad_(True)
0.3| torch.zeros_like({T:raw})
0.2| torch.ones_like({T:raw})
0.2| torch.rand_like({T:raw})
0.2| {T}.new_zeros({size})
0.3| ({T} > {num}).float()
0.2| torch.tensor({T}.tolist())
0.2| torch.from_numpy({T}.detach().numpy())
0.2| torch.tensor({T:raw})
""",
    ),
    expressions(
        "choice",
        "SVM",
        """
1| torch.where({T} > {num}, {T:raw}, {T:raw})
0.4| torch.where({T} > 0, {T:raw}, {num})
0.5| torch.where({T:var=c} > 0, {T:raw}, torch.zeros_like({=c}))
0.8| torch.maximum({T:raw}, {T:raw})
0.4| torch.minimum({T:raw}, {T:raw})
0.5| {T} if {cond:raw} else {T}
0.3| {T}.masked_fill({T} < 0, 0.0)
0.2| {T}.clamp(min={T:raw})
""",
    ),
    expressions(
        "source",
        "SVM",
        """
0.6| torch.rand({size})
0.4| torch.randn({size})
0.3| torch.ones({size})
0.2| torch.zeros({size})
0.2| torch.rand({size}, requires_grad=True)
""",
    ),
    expressions(
        "python",
        "SVM",
        """
0.5| sum([{T:raw}, {T:raw}])
0.3| (lambda t: t * {num})({T:raw})
0.2| [{T:raw}][0]
""",
    ),
)

_VECTORS = merged(
    expressions(
        "view",
        "V",
        """
1.5| {M}[0]
1| {M}[:, 1]
0.7| {M}[-1]
0.5| {V}.view(3)
0.6| {V}.view(-1)
0.6| {V}.unsqueeze(0).squeeze(0)
0.5| {V}.reshape(3, 1).flatten()
0.4| {M}.diagonal()
0.5| {V}.expand(3)
0.4| {S}.expand(3)
0.4| {M}.select(0, 1)
0.4| {M}.unbind()[0]
0.4| {M}.chunk(3)[1].squeeze(0)
0.3| {M}.narrow(0, 0, 1).flatten()
0.3| {V}.view(3, 1).squeeze()
0.3| {V}.t()
0.3| {V}[:]
0.3| {V}[...]
""",
    ),
    expressions(
        "index",
        "V",
        """
0.5| {V}[{idx:raw}]
0.5| {V}[[2, 0, 1]]
0.4| torch.cat([{V}[:1], {V}[1:]])
0.4| torch.cat([{V}[0:2], {S}.view(1)])
0.5| torch.stack([{S:raw}, {S:raw}, {S:raw}])
0.3| {V}.flip(0)
0.3| {V}.roll(1)
0.3| {V}.gather(0, {idx:raw})
0.3| torch.index_select({V:raw}, 0, {idx:raw})
0.3| {M}.gather(1, {idx}.unsqueeze(1)).squeeze(1)
0.3| {V}.sort().values
0.3| {V}.masked_fill({maskV:raw}, 0.0)
0.2| {V}.index_fill(0, {idx:raw}, 1.0)
0.2| {V}.scatter_add(0, {idx:raw}, {V:raw})
0.2| {V}.repeat(1)
0.2| {M}[{idx:raw}, 0]
""",
    ),
    expressions(
        "reduce",
        "V",
        """
1| {M}.mean(dim=0)
1| {M}.sum(1)
0.5| {M}.max(dim=1).values
0.3| {M}.amax(dim=0)
0.3| {M}.norm(dim=1)
0.3| {M}.std(dim=0)
0.3| {M}.prod(dim=1)
0.3| {M}.logsumexp(dim=1)
0.4| {V}.cumsum(0)
0.2| {V}.cumprod(0)
0.7| {V}.softmax(dim=0)
0.5| F.softmax({V:raw}, dim=0)
0.4| F.log_softmax({V:raw}, dim=0)
0.4| F.normalize({V:raw}, dim=0)
0.4| F.cross_entropy({M:raw}, {idx:raw}, reduction="none")
0.2| F.cosine_similarity({M:raw}, {M:raw})
""",
    ),
    expressions(
        "matmul",
        "V",
        """
1.5| {M} @ {V}
0.6| torch.mv({M:raw}, {V:raw})
0.5| torch.matmul({V:raw}, {M:raw})
0.7| F.linear({V:raw}, {M:raw}, {V:raw})
0.4| F.linear({V:raw}, {M:raw})
0.4| F.layer_norm({V:raw}, (3,))
0.3| torch.addmv({V:raw}, {M:raw}, {V:raw})
0.3| torch.einsum("ij,j->i", {M:raw}, {V:raw})
0.2| torch.linalg.cross({V:raw}, {V:raw})
0.8| {linear:var}({V:raw})
""",
    ),
    expressions("broadcast", "V", "0.7| {V} * {S}\n0.5| {V} + {S}\n0.4| {V} / {S}\n0.4| {S} - {V}"),
    expressions("container", "V", "0.7| {listV:var}[0]\n0.7| {listV:var}[-1]\n0.4| sum({listV:var})\n"),
)

_MATRICES = merged(
    expressions(
        "view",
        "M",
        """
1.2| {M}.t()
0.8| {M}.T
0.4| {M}.view(3, 3)
0.4| {M}.view(9).view(3, 3)
0.4| {M}.reshape(9).reshape(3, 3)
0.6| {M}.transpose(0, 1)
0.5| {V}.expand(3, 3)
0.4| {V}.unsqueeze(0).expand(3, 3)
0.4| {M}.unsqueeze(0).squeeze(0)
0.4| {M}[:]
0.3| {M}[:3, :]
0.3| {M}.permute(1, 0)
0.3| {M}.flatten().unflatten(0, (3, 3))
0.2| {M}.mT
0.2| {M}.swapaxes(0, 1)
0.3| {M}.t().contiguous()
0.2| {M}.t().reshape(3, 3)
""",
    ),
    expressions(
        "index",
        "M",
        """
0.5| {M}[{idx:raw}]
0.4| {M}[[0, 0, 2]]
0.7| torch.stack([{V:raw}, {V:raw}, {V:raw}])
0.5| torch.cat([{M}[:1], {M}[1:]])
0.4| torch.cat([{M}[:, :2], {V}.unsqueeze(1)], dim=1)
0.3| {M}.flip(0)
0.3| {M}.masked_fill({maskM:raw}, 0.0)
0.3| {M}.triu()
0.3| {M}.tril()
0.2| {V}.repeat(3, 1)
0.2| torch.diag({V:raw})
0.3| torch.vstack(list({M}.unbind()))
0.2| {M}.roll(1, dims=0)
0.2| {M}.index_select(1, {idx:raw})
0.2| F.pad({M}[:, :2], (0, 1))
""",
    ),
    expressions(
        "matmul",
        "M",
        """
2| {M} @ {M}
1| torch.matmul({M:raw}, {M:raw})
0.7| torch.mm({M:raw}, {M:raw})
0.6| {M} @ {M}.t()
0.5| torch.addmm({M:raw}, {M:raw}, {M:raw})
0.3| torch.baddbmm({M}[None], {M}[None], {M}[None]).squeeze(0)
0.6| F.linear({M:raw}, {M:raw}, {V:raw})
0.4| torch.outer({V:raw}, {V:raw})
0.4| torch.einsum("ij,jk->ik", {M:raw}, {M:raw})
0.3| torch.bmm({M}[None], {M}[None])[0]
0.2| torch.cdist({M:raw}, {M:raw})
0.2| F.scaled_dot_product_attention({M}[None], {M}[None], {M}[None])[0]
0.2| torch.cov({M:raw})
""",
    ),
    expressions(
        "reduce",
        "M",
        """
0.7| F.softmax({M:raw}, dim=1)
0.5| F.log_softmax({M:raw}, dim=-1)
0.4| {M}.softmax(1)
0.3| F.layer_norm({M:raw}, (3,))
0.3| F.normalize({M:raw}, dim=1)
0.3| {M}.cumsum(dim=0)
0.4| {M} - {M}.mean()
0.3| {M} / {M}.norm()
0.3| {M} - {M}.mean(dim=0, keepdim=True)
0.2| F.mse_loss({M:raw}, {M:raw}, reduction="none")
0.2| F.batch_norm({M:raw}, None, None, training=True)
""",
    ),
    expressions(
        "module",
        "M",
        """
4| {net:var}({M:raw})
3| {linear:var}({M:raw})
1| {net:var}({M:var})
0.6| {linear:var}({M:raw}).relu()
1.2| {cell:var}({M:raw}, {M:raw})
0.5| {cell:var}({M:raw})
0.8| {rnn:var}({M:raw})[0]
0.6| {lstm:var}({M:raw})[0]
0.6| {lstmcell:var}({M:raw})[0]
0.2| F.conv1d({M:raw}, {M}[:, :, None], {V:raw})
""",
    ),
    expressions("broadcast", "M", "0.6| {M} * {V}\n0.5| {M} + {V}\n0.4| {M} * {S}\n0.3| {M} + {S}\n0.3| {M} / {V}"),
    expressions(
        "container",
        "M",
        """
0.7| {listM:var}[0]
0.7| {listM:var}[-1]
0.4| sum({listM:var})
0.5| {dictM:var}["a"]
""",
    ),
)

_SCALARS = merged(
    expressions(
        "reduce",
        "S",
        """
5| {M}.sum()
2| {V}.sum()
3| {M}.mean()
1| {V}.mean()
1| {M}.pow(2).sum()
0.8| ({M} ** 2).mean()
0.8| {V}.norm()
0.5| {M}.norm()
0.4| {M}.max()
0.3| {V}.min()
0.4| {M}.std()
0.4| {V}.var()
0.3| {V}.prod()
0.4| {V}.logsumexp(0)
0.3| {M}.trace()
0.5| torch.sum({M:raw})
0.3| torch.mean({V:raw})
0.2| {M}.abs().mean()
0.2| torch.linalg.norm({V:raw})
0.2| {V}.median()
0.2| {M}.amax()
""",
    ),
    expressions(
        "loss",
        "S",
        """
2| F.mse_loss({M:raw}, {M:raw})
0.6| F.mse_loss({V:raw}, {V:raw})
1| F.cross_entropy({M:raw}, {idx:raw})
0.5| F.l1_loss({M:raw}, {M:raw})
0.4| F.smooth_l1_loss({M:raw}, {M:raw})
0.4| F.binary_cross_entropy_with_logits({V:raw}, {maskV}.float())
0.4| F.nll_loss(F.log_softmax({M:raw}, dim=1), {idx:raw})
0.3| F.kl_div({M:raw}, {M:raw}, reduction="batchmean")
0.3| F.huber_loss({V:raw}, {V:raw})
0.3| F.mse_loss({M:raw}, {M:raw}, reduction="sum")
1.5| {crit:var}({M:raw}, {M:raw})
0.2| F.hinge_embedding_loss({V:raw}, {V}.sign())
0.2| F.cosine_embedding_loss({M:raw}, {M:raw}, {V}.sign())
""",
    ),
    expressions("matmul", "S", "0.6| torch.dot({V:raw}, {V:raw})\n0.5| {V} @ {V}\n0.3| torch.inner({V:raw}, {V:raw})"),
    expressions("index", "S", "0.8| {V}[0]\n0.5| {M}[0, 1]\n0.4| {V}[-1]\n0.3| {M}[1][2]\n0.2| {V}.unbind()[1]"),
    expressions(
        "container",
        "S",
        """
1.5| sum({listS:var})
1| torch.stack({listS:var}).mean()
0.6| {listS:var}[-1]
0.6| {listS:var}[0]
0.6| {dictS:var}["a"]
0.6| sum({dictS:var}.values())
0.3| sum(t.sum() for t in {listM:var})
0.3| torch.stack([t.mean() for t in {listV:var}]).sum()
0.3| sum(p.pow(2).sum() for p in {net:var}.parameters())
0.2| sum([p.abs().sum() for p in {linear:var}.parameters()])
""",
    ),
)

_CONDITIONS = {
    "cond": rows(
        "condition",
        """
3| {flag:var}
1.5| not {flag:var}
3| {int:var} % 2 == 0
1| {int:var} % 2
2| {int:var} == 0
2| {int:var} > 0
1| {int:var} < 2
1| {int:var} != 1
0.7| {int:var} >= 1 and {flag:var}
0.5| {flag:var} or {int:var} == 1
0.5| 0 < {int:var} < 3
0.4| {int:var} in (0, 2)
0.3| ({int:var} + 1) % 2 == 0
1| {mode:var} == "train"
0.4| {mode:var} != "eval"
0.3| {mode:var} in ("train", "val")
0.4| True
0.2| False
0.6| len({listS:var}) > 1
0.3| {listM:var}
0.4| "a" in {dictS:var}
0.3| isinstance({M:var}, torch.Tensor)
0.3| {M:var} is {M:var}
0.2| {M:var} is not None
0.4| {float:var} > 0.2
0.3| callable({net:var})
0.3| all(t is not None for t in {listV:var})
0.3| any([{flag:var}, {flag:var}])
""",
    )
    + rows(
        "torchcond",
        """
0.8| {T:var}.requires_grad
0.4| not {T:var}.requires_grad
0.4| {T:var}.is_leaf
0.4| {T:var}.grad_fn is None
0.4| {T:var}.grad_fn is not None
0.5| {V:param}.grad is None
0.5| {M:param}.grad is not None
0.5| torch.is_grad_enabled()
0.2| torch.is_inference_mode_enabled()
0.3| {net:var}.training
0.2| {linear:var}.bias is not None
""",
    )
    + rows("shape", "0.3| {M:var}.shape[0] == 3\n0.2| {V:var}.dim() == 1\n0.2| {M:var}.size(0) > 1\n")
}

EXPRESSIONS = merged(_ANY, _VECTORS, _MATRICES, _SCALARS, _CONDITIONS)
