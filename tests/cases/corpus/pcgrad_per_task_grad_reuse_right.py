import random

import torch
from torch import nn


class PCGrad:
    def __init__(self, optimizer):
        self._optim = optimizer

    def zero_grad(self):
        self._optim.zero_grad(set_to_none=True)

    def step(self):
        self._optim.step()

    def pc_backward(self, objectives):
        grads = [self._flat(obj, i == len(objectives) - 1) for i, obj in enumerate(objectives)]
        pc = [g.clone() for g in grads]
        for g_i in pc:
            random.shuffle(grads)
            for g_j in grads:
                dot = torch.dot(g_i, g_j)
                if dot < 0:
                    g_i -= dot * g_j / (g_j.norm() ** 2 + 1e-8)
        self._set(torch.stack(pc).sum(0))

    def _params(self):
        return [p for group in self._optim.param_groups for p in group["params"]]

    def _flat(self, objective, last):
        self.zero_grad()
        objective.backward(retain_graph=not last)
        return torch.cat([torch.zeros_like(p).flatten() if p.grad is None else p.grad.clone().flatten() for p in self._params()])

    def _set(self, flat):
        idx = 0
        for p in self._params():
            p.grad = flat[idx : idx + p.numel()].view_as(p).clone()
            idx += p.numel()


shared = nn.Sequential(nn.Linear(5, 10), nn.ReLU())
heads = nn.ModuleList([nn.Linear(10, 1), nn.Linear(10, 1)])
optimizer = PCGrad(torch.optim.Adam([*shared.parameters(), *heads.parameters()]))
for _ in range(2):
    x = torch.randn(4, 5)
    feats = shared(x)
    losses = [head(feats).pow(2).mean() for head in heads]
    optimizer.zero_grad()
    optimizer.pc_backward(losses)
    optimizer.step()
