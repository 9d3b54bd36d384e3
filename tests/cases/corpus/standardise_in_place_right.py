import torch
import torch.nn as nn


def standardise(x, eps=1e-5):
    """Zero mean and unit variance, row by row."""
    x = x - x.mean(dim=1, keepdim=True)
    x = x / (x.std(dim=1, keepdim=True) + eps)
    return x


class SiameseEncoder(nn.Module):
    def __init__(self, in_dim=10, dim=6):
        super().__init__()
        self.fc = nn.Linear(in_dim, dim)

    def forward(self, x):
        return standardise(self.fc(x))


def cross_correlation(a, b):
    return (a.T @ b) / a.size(0)


def off_diagonal(m):
    n = m.size(0)
    return m.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


class BarlowTwins:
    def __init__(self, encoder, lambd=5e-3):
        self.encoder = encoder
        self.lambd = lambd
        self.optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9)

    def step(self, x):
        a = self.encoder(x + 0.1 * torch.randn_like(x))
        b = self.encoder(x + 0.1 * torch.randn_like(x))
        c = cross_correlation(a, b)
        on = (torch.diagonal(c) - 1).pow(2).sum()
        off = off_diagonal(c).pow(2).sum()
        loss = on + self.lambd * off
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.item(), "on": on.item(), "off": off.item()}


torch.manual_seed(0)
bt = BarlowTwins(SiameseEncoder())
for epoch in range(3):
    for _ in range(2):
        stats = bt.step(torch.randn(16, 10))
    print(epoch, stats)
