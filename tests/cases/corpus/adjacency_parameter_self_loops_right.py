import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class AdaptiveGraphConv(nn.Module):
    """A graph convolution whose adjacency is learned."""

    def __init__(self, nodes, fin, fout):
        super().__init__()
        self.nodes = nodes
        self.A = nn.Parameter(torch.from_numpy(np.random.rand(nodes, nodes)).float())
        self.lin = nn.Linear(fin, fout, bias=False)

    def normalised(self):
        A = self.A
        A = A + torch.eye(self.nodes)
        d = A.sum(1).clamp(min=1e-6).rsqrt()
        return d[:, None] * A * d[None, :]

    def forward(self, x):
        return F.relu(self.normalised() @ self.lin(x))


class Forecaster(nn.Module):
    def __init__(self, nodes, window):
        super().__init__()
        self.g1 = AdaptiveGraphConv(nodes, window, 12)
        self.g2 = AdaptiveGraphConv(nodes, 12, 12)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        return self.out(self.g2(self.g1(x))).squeeze(-1)


def windows(series, w):
    for t in range(len(series) - w):
        yield series[t : t + w].T, series[t + w]


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    series = torch.from_numpy(np.cumsum(np.random.randn(20, 6), axis=0)).float()
    net = Forecaster(6, 5)
    optim = torch.optim.Adam(net.parameters())
    for epoch in range(2):
        mae = []
        for x, y in windows(series, 5):
            optim.zero_grad()
            loss = F.l1_loss(net(x), y)
            loss.backward()
            optim.step()
            mae.append(loss.item())
        print(np.mean(mae))
