import torch
from torch import nn


class TopKPool(nn.Module):
    def __init__(self, d, ratio=0.5):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.ratio = ratio

    def forward(self, x, adj):
        s = self.score(x).squeeze(-1)
        k = max(2, int(self.ratio * x.size(0)))
        idx = s.topk(k).indices
        return x[idx] * torch.tanh(s[idx]).unsqueeze(-1), adj[idx][:, idx], s


pool = TopKPool(4)
opt = torch.optim.Adam(pool.parameters())
for _ in range(2):
    x, adj = torch.randn(6, 4), torch.rand(6, 6)
    h, a, _ = pool(x, adj)
    loss = (a @ h).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
