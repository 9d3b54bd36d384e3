"""What training programs are made of before they train: parts of modules, modules, changes to them, optimizers."""

from __future__ import annotations

from ..draft import Template
from ..tables import paragraphs, rows

PARTS: tuple[tuple[str, str], ...] = (
    ("net", "nn.Linear(3, 3)"),
    ("net", "nn.Linear(3, 3)"),
    ("net", "nn.Linear(3, 3)"),
    ("net", "nn.Linear(3, 3, bias=False)"),
    ("net", "nn.Sequential(nn.Linear(3, 3), nn.Tanh())"),
    ("net", "nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))"),
    ("net", "nn.LayerNorm(3)"),
    ("net", "nn.BatchNorm1d(3)"),
    ("net", "nn.PReLU()"),
    ("net", "nn.GRUCell(3, 3)"),
    ("net", "Wrapper(nn.Linear(3, 3))"),
    ("net", "LowRank(nn.Linear(3, 3))"),
    ("net", "Named()"),
    ("net", "Codes()"),
    ("net", 'nn.Sequential(OrderedDict([("a", nn.Linear(3, 3)), ("b", nn.ReLU())]))'),
    ("pair", "Pair()"),
    ("rnn", "nn.GRU(3, 3)"),
    ("rnn", "nn.LSTM(3, 3)"),
    ("V", "nn.Parameter(torch.ones(3))"),
    ("V", "nn.Parameter(torch.randn(3))"),
    ("V", "nn.Parameter(torch.zeros(3))"),
    ("table", "nn.Embedding(3, 3)"),
    ("list", "nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])"),
    ("list", "nn.ModuleList(nn.Linear(3, 3) for _ in range(2))"),
    ("list", "[nn.Linear(3, 3), nn.Linear(3, 3)]"),
    ("list", "[nn.Linear(3, 3) for _ in range(2)]"),
    ("dict", 'nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})'),
    ("dict", '{"a": nn.Linear(3, 3)}'),
    ("buffer", "torch.ones(3)"),
)
"""What modules are made of: how it is used, and how it is made."""

MAKERS = rows(
    "make",
    """
3| {net:fresh} = nn.Linear(3, 3)
1| {net:fresh} = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
0.5| {net:fresh} = nn.Linear(3, 3, bias=False)
""",
) + paragraphs(
    "make",
    """
1| {V:leaf} = nn.Parameter(torch.<<ones|randn|zeros>>(3))

0.7| {V:leaf} = torch.<<ones|randn>>(3, requires_grad=True)

0.7| {list:fresh=l} = [nn.Linear(3, 3)<<, nn.Tanh(), nn.Linear(3, 3)|, nn.Linear(3, 3)>>]
@name net {=l}[0] mid
@name net {=l}[-1] mid

0.4| {net:fresh=m} = nn.Sequential(*[nn.Linear(3, 3) for _ in range(2)])
@name part {=m}[0] mid
@name part {=m}[1] mid

0.4| {net:fresh} = copy.deepcopy({net:var})

0.4| {net:fresh} = Wrapper({net:var})

0.3| {net:fresh} = torch.nn.utils.<<parametrizations.|>><<weight_norm|spectral_norm>>(nn.Linear(3, 3))

0.3| {net:fresh} = nn.Sequential({net:var}, nn.Linear(3, 3))

0.3| {net:fresh} = <<LowRank({net:var})|Named()|Codes()>>

0.3| {net:fresh=m} = Pair()
@call H {=m}({H:raw})[0]
@call H {=m}({H:raw})[1]
@call H sum({=m}({H:raw}))
@drop {=m}

0.3| {net:fresh} = copy.copy({net:var})

0.3| {net:fresh=n} = copy.deepcopy({net:var=m})
{=n}.load_state_dict({=m}.state_dict())

0.3| {V:leaf} = nn.Parameter({V:param}.<<detach().clone()|data>>)

0.2| {V:leaf=v} = nn.Parameter(torch.ones(3))
{net:var}.register_parameter("scale", {=v})

0.2| {net:fresh} = nn.Sequential(OrderedDict([("a", {net:var}), ("b", nn.Tanh())]))

0.3| {net:fresh=m} = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])[0]

0.3| {dict:fresh=d} = {{"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}}
@name net {=d}["a"] mid
@name net {=d}["b"] mid
""",
    "HV",
)

CHANGES = rows(
    "change",
    """
2| {net:var}.requires_grad_(False)
1| {net:var}.requires_grad_(True)
1| {V:param}.requires_grad_(False)
0.5| {V:param}.requires_grad = False
3| {part:var} = nn.Linear(3, 3)
0.5| {part:var}.weight.requires_grad = False
0.5| {part:var}.weight = nn.Parameter(torch.randn(3, 3))
0.3| {net:var}.eval()
0.3| {part:var}.register_forward_hook(lambda module, inputs, output: output.detach())
0.3| {part:var}.register_forward_hook(lambda module, inputs, output: output * 2)
0.3| {part:var}.register_forward_pre_hook(lambda module, inputs: inputs[0].detach())
0.3| {net:var}.load_state_dict({net:var}.state_dict())
0.3| nn.init.zeros_({part:var}.weight)
0.3| freeze({net:var}<<|, on=False>>)
0.2| {V:param}.register_hook(lambda grad: grad * 0.5)
0.2| {net:var}.apply(lambda module: module.requires_grad_(False) if isinstance(module, nn.Linear) else None)
0.5| {part:var}.weight = {part:var}.weight
0.3| {part:var}.weight.data = torch.randn(3, 3)
0.3| {part:var} = copy.deepcopy({part:var})
0.3| {part:var} = {net:var}
0.3| {net:var}.add_module("more", nn.Linear(3, 3))
0.3| {part:var}.register_full_backward_hook(lambda module, grads, outs: (grads[0] * 0.5,))
""",
) + paragraphs(
    "change",
    """
0.2| for p in {net:var}.parameters():
    p.register_hook(lambda grad: grad * <<0|0.5>>)

0.2| for p in {net:var}.parameters():
    p.register_post_accumulate_grad_hook(lambda p: bound(p))

0.2| for module in {net:var}.modules():
    if isinstance(module, nn.Linear):
        module.bias.requires_grad_(False)

1.5| for p in {net:var}.parameters():
    p.<<requires_grad = False|requires_grad_(False)>>

0.5| for p in {net:var}.parameters():
    p.requires_grad = True

0.5| for name, p in {net:var}.named_parameters():
    if <<"bias" in name|name.endswith("weight")>>:
        p.requires_grad = False

0.3| for layer in {list:var}:
    layer.requires_grad_(False)
""",
    "HV",
)

GIVEN: dict[str, tuple[Template, ...]] = {
    "plist": rows(
        "given",
        """
8| {net:var}.parameters()
2| list({net:var}.parameters()) + list({net:var}.parameters())
1| [*{net:var}.parameters(), *{net:var}.parameters()]
1| itertools.chain({net:var}.parameters(), {net:var}.parameters())
1| [p for p in {net:var}.parameters() if p.requires_grad]
1| filter(lambda p: p.requires_grad, {net:var}.parameters())
0.5| [p for name, p in {net:var}.named_parameters() if "bias" <<in|not in>> name]
0.7| [{V:param}]
0.7| [{V:param}, *{net:var}.parameters()]
0.7| [{{"params": {net:var}.parameters()}}, {{"params": {net:var}.parameters(), "lr": 0.01}}]
0.4| [{{"params": [{V:param}]}}, {{"params": {net:var}.parameters(), "weight_decay": 0.1}}]
0.5| [p for m in ({net:var}, {net:var}) for p in m.parameters()]
0.5| [p for layer in {list:var} for p in layer.parameters()]
0.4| {part:var}.parameters()
0.3| list({net:var}.parameters())[:1]
0.3| [{part:var}.weight]
0.3| (p for p in {net:var}.parameters())
0.2| nn.ModuleList([{net:var}, {net:var}]).parameters()
0.2| dict({net:var}.named_parameters()).values()
0.6| trainable({net:var}<<|, {net:var}>>)
0.2| map(lambda pair: pair[1], {net:var}.named_parameters())
0.2| set({net:var}.parameters()) | set({net:var}.parameters())
0.2| {{id(p): p for m in ({net:var}, {net:var}) for p in m.parameters()}}.values()
0.2| [p for p in {net:var}.parameters() if p.dim() <<== 1|> 1>>]
0.2| [{{"params": [p], "lr": 0.1}} for p in {net:var}.parameters()]
0.2| sum([list(m.parameters()) for m in ({net:var}, {net:var})], [])
""",
    )
}

LITERALS: dict[str, tuple[str, ...]] = {
    "lr": ("0.1", "0.01", "0.05"),
    "optimizer": (
        "SGD({p}, lr={lr})",
        "SGD({p}, lr={lr})",
        "SGD({p}, lr={lr}, momentum=0.9)",
        "SGD({p}, lr={lr}, weight_decay=0.1)",
        "Adam({p}, lr={lr})",
        "Adam({p})",
        "AdamW({p}, lr={lr})",
        "RMSprop({p}, lr={lr})",
        "Adagrad({p}, lr={lr})",
    ),
}
