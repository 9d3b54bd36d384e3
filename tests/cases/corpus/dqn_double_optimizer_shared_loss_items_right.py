import operator
from functools import reduce
from types import SimpleNamespace

import torch
from torch import nn

args = SimpleNamespace(lr=1e-3, clip=0.5, heads=3, epochs=2)


class Ensemble(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(n))

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return list(map(lambda head: head(h), self.heads))


model = Ensemble(args.heads)
opts = [torch.optim.Adam(list(model.trunk.parameters()) + list(h.parameters()), lr=args.lr) for h in model.heads]
getter = operator.itemgetter("x", "y")
for _ in range(args.epochs):
    x, y = getter({"x": torch.randn(4, 4), "y": torch.randn(4, 1)})
    preds = model(x)
    losses = [(p - y).pow(2).mean() for p in preds]
    for o in opts:
        o.zero_grad()
    reduce(operator.add, losses).backward()
    for loss, o in zip(losses, opts):
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        o.step()
