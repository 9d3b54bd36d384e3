import torch
from torch import nn

layers = nn.ModuleDict({f"l{i}": nn.Linear(4, 4) for i in range(3)})
opts = {name: torch.optim.SGD(m.parameters(), lr=0.1) for name, m in layers.items()}


def forward(x):
    acts = {}
    for name, layer in layers.items():
        x = torch.relu(layer(x))
        acts[name] = x
    return acts


for it in range(2):
    acts = forward(torch.randn(3, 4))
    locals_ = {name: a.pow(2).mean() for name, a in acts.items()}
    for o in opts.values():
        o.zero_grad()
    for i, name in enumerate(list(locals_)):
        locals_[name].backward(retain_graph=i < len(locals_) - 1)  # raises: RuntimeError "modified by an inplace operation"
        opts[name].step()  # error: [parameter-updated-before-backward]
