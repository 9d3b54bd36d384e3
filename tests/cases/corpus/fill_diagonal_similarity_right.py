import torch
from torch import nn
import torch.nn.functional as F


class NTXent(nn.Module):
    def __init__(self, temperature=0.5):
        super().__init__()
        self.t = temperature

    def forward(self, z1, z2):
        z = F.normalize(torch.cat([z1, z2]), dim=1)
        sim = torch.exp(z @ z.t() / self.t)
        sim = sim * (1 - torch.eye(len(z)))
        n = len(z1)
        pos = torch.cat([torch.diag(sim, n), torch.diag(sim, -n)])
        return -torch.log(pos / sim.sum(1)).mean()


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.g = nn.Linear(12, 4)

    def forward(self, x):
        return self.g(self.f(x))


model, crit = SimCLR(), NTXent()
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
for _ in range(2):
    x = torch.randn(4, 6)
    loss = crit(model(x + 0.1 * torch.randn_like(x)), model(x + 0.1 * torch.randn_like(x)))
    opt.zero_grad()
    loss.backward()
    opt.step()
