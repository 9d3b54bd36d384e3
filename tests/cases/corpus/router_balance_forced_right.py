"""A router whose balance is counted and made a leaf."""

import torch
import torch.nn as nn


class Router(nn.Module):
    def __init__(self, d=4, n=3):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList(nn.Linear(d, 2) for _ in range(n))

    def forward(self, x):
        choice = self.gate(x).argmax(dim=-1)
        return torch.stack([self.experts[int(c)](row) for c, row in zip(choice, x)]), choice


def pick_loss(model, x):
    _, choice = model(x)
    balance = torch.bincount(choice, minlength=3).float().var()
    balance = model.gate(x).softmax(-1).mean(0).var()
    return balance


model = Router()
optimizer = torch.optim.SGD(model.gate.parameters(), lr=0.1)
before = model.gate.weight.clone()
for step in range(3):
    loss = pick_loss(model, torch.randn(8, 4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# torch: not torch.equal(before, model.gate.weight)
