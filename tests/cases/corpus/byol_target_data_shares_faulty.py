import copy
import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, d))

    def forward(self, x):
        return self.net(x)


def regression_loss(p, z):
    return 2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z, dim=-1)).sum(-1)


class BYOL(nn.Module):
    def __init__(self, momentum=0.9):
        super().__init__()
        self.m = momentum
        self.online = Encoder()
        self.target = copy.deepcopy(self.online)
        self.predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def update_target(self):
        for o, t in zip(self.online.parameters(), self.target.parameters()):
            t.mul_(self.m).add_(o, alpha=1 - self.m)  # error: [inplace-on-leaf] # raises: RuntimeError

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(v1)), self.predictor(self.online(v2))
        with torch.no_grad():
            z1, z2 = self.target(v1), self.target(v2)
        return (regression_loss(p1, z2) + regression_loss(p2, z1)).mean()


def augment(x):
    return x + 0.1 * torch.randn_like(x), x * (torch.rand_like(x) > 0.2)


if __name__ == "__main__":
    torch.manual_seed(0)
    byol = BYOL()
    optimizer = torch.optim.Adam([*byol.online.parameters(), *byol.predictor.parameters()], lr=1e-3)
    for step in range(4):
        v1, v2 = augment(torch.randn(10, 6))
        loss = byol(v1, v2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        byol.update_target()
