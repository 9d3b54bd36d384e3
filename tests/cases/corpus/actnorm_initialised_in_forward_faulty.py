import math
import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, dim))
        self.log_scale = nn.Parameter(torch.zeros(1, dim))
        self.register_buffer("initialised", torch.tensor(False))

    def initialise(self, x):
        self.loc.copy_(-x.mean(0, keepdim=True))  # error: [inplace-on-leaf] # raises: RuntimeError
        self.log_scale.copy_(-torch.log(x.std(0, keepdim=True) + 1e-6))

    def forward(self, x):
        if not self.initialised:
            self.initialise(x)
            self.initialised.fill_(True)
        return (x + self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        return torch.cat([b * s.exp() + t, a], dim=1), s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=4, depth=2):
        super().__init__()
        self.steps = nn.ModuleList(m for _ in range(depth) for m in (ActNorm(dim), Coupling(dim)))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for step in self.steps:
            x, logdet = step(x)
            total = total + logdet
        return total - 0.5 * (x.pow(2) + math.log(2 * math.pi)).sum(1)


torch.manual_seed(0)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
for it in range(4):
    x = torch.randn(32, 4) * 2 + 1
    nll = -flow.log_prob(x).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    print(nll.item())
