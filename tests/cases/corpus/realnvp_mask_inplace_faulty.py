import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, dim, hidden, mask):
        super().__init__()
        self.s = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim))
        self.register_buffer("mask", mask)

    def forward(self, x):
        xm = x * self.mask
        s, t = self.s(xm), self.t(xm)
        s *= 1 - self.mask  # error: [inplace-on-saved]
        t *= 1 - self.mask
        return xm + (1 - self.mask) * (x * s.exp() + t), s.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, dim=2, depth=4, hidden=8):
        super().__init__()
        masks = [torch.tensor([i % 2, 1 - i % 2], dtype=torch.float32) for i in range(depth)]
        self.flows = nn.ModuleList(Coupling(dim, hidden, m) for m in masks)

    def log_prob(self, x):
        total = x.new_zeros(x.size(0))
        for flow in self.flows:
            x, logdet = flow(x)
            total = total + logdet
        return total - 0.5 * (x**2).sum(1) - math.log(2 * math.pi)


def moons(n):
    theta = torch.rand(n) * math.pi
    return torch.stack([theta.cos(), theta.sin()], 1) + 0.05 * torch.randn(n, 2)


if __name__ == "__main__":
    flow = RealNVP()
    optim = torch.optim.Adam(flow.parameters(), lr=1e-3)
    for it in range(3):
        loss = -flow.log_prob(moons(16)).mean()
        optim.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        optim.step()
