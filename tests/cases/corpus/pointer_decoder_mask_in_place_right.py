import math
import torch
from torch import nn


class PointerDecoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.cell = nn.LSTMCell(d, d)
        self.wq, self.wk = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.start = nn.Parameter(torch.randn(d))
        self.d = d

    def forward(self, nodes):
        b, n, d = nodes.shape
        h, c = nodes.mean(1), torch.zeros(b, d)
        x = self.start.expand(b, d)
        mask = torch.zeros(b, n, dtype=torch.bool)
        keys = self.wk(nodes)
        logps, tour = [], []
        for _ in range(n):
            h, c = self.cell(x, (h, c))
            u = (keys @ self.wq(h).unsqueeze(2)).squeeze(2) / math.sqrt(d)
            u = 10 * torch.tanh(u)
            dist = torch.distributions.Categorical(logits=u.masked_fill(mask, -1e9))
            pick = dist.sample()
            logps.append(dist.log_prob(pick))
            tour.append(pick)
            mask = mask.scatter(1, pick.unsqueeze(1), True)
            x = nodes[torch.arange(b), pick]
        return torch.stack(tour, 1), torch.stack(logps, 1).sum(1)


def length(points, tour):
    p = points.gather(1, tour.unsqueeze(2).expand(-1, -1, 2))
    return (p - p.roll(1, 1)).norm(dim=2).sum(1)


torch.manual_seed(0)
embed, decoder = nn.Linear(2, 8), PointerDecoder(8)
opt = torch.optim.Adam([*embed.parameters(), *decoder.parameters()], lr=1e-3)
baseline = None
for it in range(3):
    pts = torch.rand(6, 5, 2)
    tour, logp = decoder(embed(pts))
    cost = length(pts, tour)
    baseline = cost.mean() if baseline is None else 0.8 * baseline + 0.2 * cost.mean()
    loss = ((cost - baseline) * logp).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
