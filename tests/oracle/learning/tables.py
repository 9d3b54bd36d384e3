"""The grammar of training programs: features, cuts, losses, modules, optimizers.

Kinds: `H` is a tensor of shape (4, 3), `V` one of shape (3,), `S` a scalar, `net` something that maps H to H and has
parameters, `part` an attribute that holds such a thing, `opt` an optimizer, `plist` what an optimizer is given.
"""

from __future__ import annotations

from ..draft import Vocabulary
from ..tables import expressions, merged, paragraphs, rows
from .making import GIVEN, LITERALS

FEATURES = expressions(
    "feature",
    "H",
    """
9| {net:var}({H:raw})
2| {net:var}({H:graph})
1| torch.<<tanh|sigmoid>>({H:raw})
0.7| F.<<gelu|softplus|silu>>({H:raw})
1| {H} + {H}
0.7| {H} * {H}
0.7| {H} * {V}
0.5| {H} + {V}
0.3| {H} - {H}.mean(dim=0)
0.3| {H} / ({H}.norm(dim=1, keepdim=True) + 1.0)
0.3| {H}.clone()
0.3| {H}[:, [2, 0, 1]]
0.3| {H}.flip(1)
0.3| torch.stack([{H:raw}, {H:raw}]).mean(0)
0.3| torch.cat([{H:raw}, {H:raw}])[2:6]
0.3| torch.where({H} > 0, {H}, {H})
0.3| torch.lerp({H:raw}, {H:raw}, 0.5)
0.3| {H} @ torch.diag({V:raw})
0.3| {H}.view(4, 3, 1).transpose(1, 2).reshape(4, 3)
0.3| sum([{H:raw}, {H:raw}])
0.2| torch.einsum("bi,i->bi", {H:raw}, {V:raw})
0.2| F.dropout({H:raw}, 0.5)
0.2| {H}.clamp(-2, 2)
0.2| checkpoint({net:var}, {H:raw}, use_reentrant=False)
0.2| torch.distributions.Normal({H:raw}, 1.0).rsample()
0.2| torch.utils.checkpoint.checkpoint({net:var}, {H:raw}, use_reentrant=False)
0.15| F.gumbel_softmax({H:raw}, hard=True)
0.15| {H:var=a} + ({=a}.round() - {=a}).detach()
0.15| ({H} > 0) * {H}
0.15| torch.func.functional_call({net:var=m}, dict({=m}.named_parameters()), ({H:raw},))
0.3| Reverse.apply({H:raw})
0.15| torch.gather({H:raw}, 1, labels.unsqueeze(1)).expand(4, 3)
0.15| torch.maximum({H:raw}, {H:raw})
0.15| {H}.index_select(0, torch.tensor([3, 2, 1, 0]))
0.15| {H}.scatter(1, labels.unsqueeze(1), 0.0)
0.15| functools.reduce(torch.add, [{H:raw}, {H:raw}])
0.15| list(map(torch.tanh, [{H:raw}]))[0]
0.15| (lambda h: h * 2)({H:raw})
0.15| {H} if step >= 0 else {H}
0.15| F.embedding(labels, torch.eye(3) * {V})
0.15| torch.matmul({H:raw}, torch.eye(3))
0.15| F.layer_norm({H:raw}, (3,))
0.15| F.normalize({H:raw}, dim=1)
0.15| {H}.cumsum(dim=0)
0.15| {H}.masked_fill({H} > 2, 0.0)
0.15| {H}.split(2)[0].repeat(2, 1)
0.15| torch.nan_to_num({H:raw})
0.3| mix({H:raw}, {H:raw})
0.15| F.linear({H:raw}, torch.eye(3), {V:raw})
0.15| {H}[{H} > -9].view(4, 3)
0.15| torch.vmap(torch.tanh)({H:raw})
0.15| {H}.unbind(0)[0].expand(4, 3)
0.15| torch.stack(list({H})).clone()
0.15| torch.stack([row * 2 for row in {H}])
0.15| torch.no_grad()(lambda: {H:raw})()
""",
)

CUT_FEATURES = expressions(
    "cut",
    "H",
    """
3| {H}.detach()
1| {H}.data
1| {H}.round()
0.7| torch.sign({H:raw})
0.4| {H}.floor()
1| torch.tensor({H}.tolist())
0.5| torch.tensor({H}.detach().numpy())
1| torch.from_numpy({H}.detach().numpy())
0.4| torch.as_tensor({H}.detach().numpy() * 0.5)
1| F.one_hot({H}.argmax(dim=1), 3).float()
0.6| torch.eye(3)[{H}.argmax(dim=1)]
0.6| {H}.argmax(dim=1, keepdim=True).float().expand(4, 3)
1| torch.distributions.Normal({H:raw}, 1.0).sample()
0.6| torch.bernoulli(torch.sigmoid({H:raw}))
0.6| torch.distributions.Categorical(logits={H:raw}).sample().float().unsqueeze(1).expand(4, 3)
0.7| ({H} > 0).float()
0.5| {H}.long().float()
0.5| {H} * {H}.mean().item()
0.4| {H} * float({H}.sum())
0.4| torch.zeros_like({H:raw}).copy_({H}.detach())
0.4| torch.full((4, 3), {H}.mean().item())
0.4| {H}.clone().detach().requires_grad_()
0.3| torch.heaviside({H:raw}, torch.tensor(0.5))
0.3| frozen({net:var}, {H:raw})
0.3| evaluate({net:var}, {H:raw})
0.3| Stop.apply({H:raw})
0.3| Blend.apply({H:raw}, {H:raw})
0.3| torch.func.functional_call({net:var=m}, {{name: p.detach() for name, p in {=m}.named_parameters()}}, ({H:raw},))
0.2| torch.where({H} > 0, 1.0, 0.0)
0.2| torch.topk({H:raw}, 3, dim=1).indices.float()
0.2| {H}.max(dim=1, keepdim=True)[1].float().expand(4, 3)
0.2| F.relu({H}.detach()) + {H} * 0
0.2| torch.stack([torch.tensor(row.tolist()) for row in {H}])
0.2| torch.tensor([[float(v) for v in row] for row in {H}])
0.3| torch.from_numpy(np.tanh({H}.detach().numpy())) * {H}
0.3| {H}.new_tensor({H}.tolist())
0.3| torch.zeros(4, 3).index_fill(0, {H}.argmax(dim=0), 1.0)
0.3| torch.searchsorted(torch.linspace(-1, 1, 5), {H}.contiguous()).float()
0.3| ({H} * 10).int().float()
0.3| torch.isnan({H:raw}).float() + {H}
0.3| {H}.sort(dim=1)[1].float()
0.3| {H}.ceil()
""",
)

VECTORS = expressions(
    "vector",
    "V",
    """
2| {H}.mean(dim=0)
1| {H}[0]
1| {V} * 0.5
0.7| {V} + {V}
0.5| torch.softmax({V:raw}, dim=0)
0.4| {H}.sum(0).tanh()
""",
)

CUT_VECTORS = expressions(
    "cut",
    "V",
    """
1| {V}.detach()
0.5| {V}.data
0.4| torch.tensor({V}.tolist())
0.4| {V}.round()
0.4| F.one_hot({V}.argmax(), 3).float()
""",
)

LOSSES = expressions(
    "loss",
    "S",
    """
4| F.mse_loss({H:raw}, {H:op})
3| F.mse_loss({H:raw}, y)
2| F.cross_entropy({H:raw}, labels)
1| {H}.pow(2).mean()
0.7| ({H} - {H:whole}).abs().mean()
0.7| F.smooth_l1_loss({H:raw}, y)
0.5| -F.cosine_similarity({H:raw}, {H:op}).mean()
0.5| F.kl_div(F.log_softmax({H:raw}, dim=1), F.softmax({H:op}, dim=1), reduction="batchmean")
0.5| F.binary_cross_entropy_with_logits({H:raw}, (y > 0).float())
0.5| criterion({H:raw}, y)
0.5| {V}.pow(2).sum()
0.6| {S} + {S}
0.6| {S} + 0.1 * {S}
0.2| {S} * 0.5
0.2| torch.stack([{S:raw}, {S:raw}]).mean()
0.3| {S} + 0.01 * sum(p.pow(2).sum() for p in {net:var}.parameters())
0.3| distance({H:raw}, {H:op})
0.15| torch.maximum({S:raw}, {S:raw})
0.15| -(F.log_softmax({H:raw}, dim=1)[range(4), labels]).mean()
0.15| F.triplet_margin_loss({H:raw}, {H:op}, y)
0.15| ({S:raw}, {S:raw})[0]
0.15| {H}.std() + {H}.var(dim=0).sum()
0.15| torch.linalg.norm({H:raw})
0.2| ({H} * {H}.detach()).mean()
0.2| {H}.logsumexp(dim=1).mean()
0.2| (F.softmax({H:raw}, dim=1) * F.log_softmax({H:raw}, dim=1)).sum(1).mean()
0.2| torch.distributions.Normal({H:raw}, 1.0).log_prob(y).mean()
""",
)

CUT_LOSSES = expressions(
    "cut",
    "S",
    """
1| {S}.detach()
0.6| {S}.item() * {S}
0.5| {S} + {S}.item()
0.5| {S} + torch.tensor({S}.item())
0.4| {S} / {S}.detach()
0.3| F.cross_entropy({H:raw}, {H}.argmax(dim=1))
0.3| F.cross_entropy({H:raw}, torch.softmax({H}.detach(), dim=1))
0.3| -(torch.distributions.Categorical(logits={H:raw}).log_prob(labels) * {H}.detach().mean(dim=1)).mean()
0.3| torch.exp(-{S}.detach()) * {S}
0.2| torch.tensor([{S}.item(), 1.0]).sum() + {S}
0.3| {S} + 0.1 * {S}.detach()
0.3| F.mse_loss({H:op}, {H}.detach())
""",
)

STATEMENTS = (
    rows(
        "assign",
        """
8| {H:new} = {H:op}
1| {V:new} = {V:op}
0.6| {H:own=a} = {=a} + {H}
0.4| {H:fresh}, {H:fresh} = {H:op}, {H:op}
0.3| {H:fresh}, {V:fresh} = split({H:raw})
""",
    )
    + rows(
        "write",
        """
1| {H:ownmid} += {H:raw}
0.4| {H:mid}.mul_(0.5)
0.5| {H:mid}[:, 0] = 0.0
0.5| {H:mid}[0] = {V:raw}
0.4| {H:mid}[:, 1] = {H}[:, 0]
0.3| {H:mid}.copy_({H:raw})
0.3| {H:mid}[{H} > 1] = 0.0
""",
    )
    + rows(
        "cut",
        """
1| {H:new} = {H:whole}.detach()
0.4| {H:mid}.detach_()
0.4| {H:mid}.data.copy_({H:raw})
0.3| {H:var}.register_hook(lambda grad: grad * <<0|0.5|2>>)
0.3| {H:var}.register_hook(lambda grad: grad.detach().clamp(-1, 1))
0.2| {H:var}.retain_grad()
0.3| {H:mid} = {H:var}.detach().requires_grad_()
""",
    )
    + paragraphs(
        "cut",
        """
2| +with torch.no_grad():
    {H:new} = {H:op}

0.5| +with torch.no_grad():
    {V:new} = {V:op}

0.4| +with torch.inference_mode(False):
    {H:new} = {H:op}

0.4| +with torch.set_grad_enabled(<<True|False|step > 0>>):
    {H:new} = {H:op}

0.3| +with torch.no_grad():
    {H:new} = {H:op}
    +with torch.enable_grad():
        {H:new} = {H:op}

0.3| +with torch.<<no_grad|inference_mode>>():
    {H:fresh=a} = {H:op}
{H:new} = {=a}.clone()

0.3| {H:fresh=b} = {H}.clone()
with torch.no_grad():
    {=b}[:, <<0|1>>] = {H}[:, 2]

0.3| +with torch.no_grad():
    {V:fresh} = {H:var}[0]
""",
        "HV",
    )
    + paragraphs(
        "branch",
        """
1| +if step <<> 0|== 0|% 2 == 0>>:
    {H:own} = {H:op}
else:
    {H:own} = {H:op}

1| +for _ in range(2):
    {H:own=a} = {net:var}({=a})
""",
        "HV",
    )
)

NAMES: dict[str, tuple[str, ...]] = {
    "H": ("h", "z", "out", "feat", "pred", "fake", "code", "a", "b", "mixed"),
    "V": ("v", "scale", "gain", "shift", "mean", "w"),
    "S": ("loss", "error", "cost", "penalty", "term", "extra"),
    "net": ("net", "encoder", "decoder", "critic", "head", "actor", "teacher", "model"),
    "list": ("layers", "blocks"),
    "dict": ("branches", "heads"),
    "opt": ("opt", "optimizer", "opt_b", "optim_c"),
}

VOCABULARY = Vocabulary(
    expressions={**merged(FEATURES, CUT_FEATURES, VECTORS, CUT_VECTORS, LOSSES, CUT_LOSSES), **GIVEN},
    statements=STATEMENTS,
    literals=LITERALS,
    names=NAMES,
    fallback={"H": "torch.randn(4, 3)", "V": "torch.ones(3)", "S": "y.pow(2).mean()"},
    bridges={"V": (("H", "{}.mean(dim=0)"),), "S": (("H", "{}.pow(2).mean()"), ("H", "F.mse_loss({}, y)"))},
    shares={"assign": 10, "write": 0.7, "cut": 1.5, "branch": 0.5},
    makers={},
)
