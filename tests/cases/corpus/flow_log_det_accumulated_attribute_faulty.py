import torch
import torch.nn as nn


class AffineCoupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim // 2, 8), nn.ReLU(), nn.Linear(8, dim))
        self.flip = flip

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * torch.exp(s) + t
        out = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return out, s.sum(dim=1)


class Flow(nn.Module):
    def __init__(self, dim=4, n=3):
        super().__init__()
        self.layers = nn.ModuleList(AffineCoupling(dim, i % 2 == 1) for i in range(n))
        self.log_det = 0

    def forward(self, x):
        for layer in self.layers:
            x, ld = layer(x)
            self.log_det = self.log_det + ld
        return x

    def nll(self, x):
        z = self(x)
        log_pz = -0.5 * (z**2).sum(dim=1)
        return -(log_pz + self.log_det).mean()


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
for i in range(3):
    x = torch.randn(16, 4)
    loss = flow.nll(x)
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
    if i % 100 == 0:
        print(f"iter {i}: {loss.item():.3f}")
