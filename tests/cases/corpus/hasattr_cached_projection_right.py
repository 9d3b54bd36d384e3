import torch
from torch import nn


class SpectralGraphConv(nn.Module):
    """Filters in the eigenbasis of the Laplacian, with learned spectral coefficients."""

    def __init__(self, laplacian, fin, fout, k=4):
        super().__init__()
        values, vectors = torch.linalg.eigh(laplacian)
        self.register_buffer("values", values[:k])
        self.register_buffer("vectors", vectors[:, :k])
        self.coef = nn.Parameter(torch.randn(3))
        self.lin = nn.Linear(fin, fout)

    def filter(self):
        gains = sum(c * self.values**i for i, c in enumerate(self.coef))
        return self.vectors @ torch.diag(gains) @ self.vectors.t()

    def forward(self, x):
        return torch.relu(self.filter() @ self.lin(x))


def ring(n):
    a = torch.zeros(n, n)
    for i in range(n):
        a[i, (i + 1) % n] = a[(i + 1) % n, i] = 1.0
    return torch.diag(a.sum(1)) - a


torch.manual_seed(0)
net = nn.Sequential(SpectralGraphConv(ring(8), 3, 6), nn.Linear(6, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(8, 3), torch.randint(0, 2, (8,))
mask = torch.rand(8) < 0.7
mask[0] = True
for epoch in range(4):
    net.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x)[mask], y[mask])
    loss.backward()
    optimizer.step()
