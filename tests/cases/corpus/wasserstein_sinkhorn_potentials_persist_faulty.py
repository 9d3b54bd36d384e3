import torch
from torch import nn


class Sinkhorn(nn.Module):
    def __init__(self, n, eps=0.1, iters=3):
        super().__init__()
        self.eps, self.iters = eps, iters
        self.register_buffer("u", torch.zeros(n))
        self.register_buffer("v", torch.zeros(n))

    def forward(self, x, y):
        cost = torch.cdist(x, y)
        for _ in range(self.iters):
            self.u = -self.eps * torch.logsumexp((self.v[None] - cost) / self.eps, 1)
            self.v = -self.eps * torch.logsumexp((self.u[:, None] - cost) / self.eps, 0)
        plan = torch.exp((self.u[:, None] + self.v[None] - cost) / self.eps)
        return (plan * cost).sum()


gen = nn.Linear(2, 2)
sinkhorn = Sinkhorn(6)
opt = torch.optim.Adam(gen.parameters(), lr=0.01)
for _ in range(3):
    loss = sinkhorn(gen(torch.randn(6, 2)), torch.randn(6, 2))
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
