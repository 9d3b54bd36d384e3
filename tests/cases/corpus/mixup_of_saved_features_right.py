import random
import torch
from torch import nn
import torch.nn.functional as F


class WideBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.bn, self.fc = nn.BatchNorm1d(d), nn.Linear(d, d)

    def forward(self, x):
        return x + self.fc(F.relu(self.bn(x)))


class ManifoldNet(nn.Module):
    def __init__(self, d=8, classes=4):
        super().__init__()
        self.inp = nn.Linear(5, d)
        self.blocks = nn.ModuleList([WideBlock(d) for _ in range(3)])
        self.out = nn.Linear(d, classes)

    def forward(self, x, mix=None):
        h = torch.tanh(self.inp(x))
        if mix is not None:
            lam, perm = mix
            h = lam * h + (1 - lam) * h[perm]
        for b in self.blocks:
            h = b(h)
        return self.out(F.relu(h))


def criterion(logits, y, mix):
    if mix is None:
        return F.cross_entropy(logits, y)
    lam, perm = mix
    return lam * F.cross_entropy(logits, y) + (1 - lam) * F.cross_entropy(logits, y[perm])


def train(net, batches, opt, use_mix=True):
    net.train()
    for x, y in batches:
        mix = (random.betavariate(2, 2), torch.randperm(len(x))) if use_mix else None
        loss = criterion(net(x, mix), y, mix)
        opt.zero_grad()
        loss.backward()
        opt.step()


random.seed(0)
torch.manual_seed(0)
net = ManifoldNet()
train(net, [(torch.randn(6, 5), torch.randint(0, 4, (6,))) for _ in range(3)], torch.optim.SGD(net.parameters(), lr=0.1))
