from functools import singledispatch

import torch
from torch import nn


@singledispatch
def compute_loss(out, target):
    raise NotImplementedError


@compute_loss.register
def _(out: torch.Tensor, target):
    return nn.functional.mse_loss(out, target)


@compute_loss.register(dict)
def _(out, target):
    return sum(nn.functional.mse_loss(v, target) for v in out.values())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 6), nn.Sigmoid())
        self.heads = nn.ModuleDict({"main": nn.Linear(6, 2), "aux": nn.Linear(6, 2)})

    def forward(self, x):
        h = self.body(x)
        return {k: head(h) for k, head in self.heads.items()}


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    x, y = torch.randn(4, 3), torch.randn(4, 2)
    outs = net(x)
    opt.zero_grad()
    compute_loss(outs, y).backward()
    compute_loss(outs["main"], y).backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
    opt.step()
