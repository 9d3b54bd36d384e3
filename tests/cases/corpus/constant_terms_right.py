import torch
from torch import nn
import torch.nn.functional as F


class EMAQuantizer(nn.Module):
    def __init__(self, n, dim, decay=0.99, beta=0.25):
        super().__init__()
        self.register_buffer("codebook", torch.randn(n, dim))
        self.register_buffer("size", torch.zeros(n))
        self.register_buffer("mean", self.codebook.clone())
        self.decay, self.beta = decay, beta

    def forward(self, z):
        idx = torch.cdist(z, self.codebook).argmin(1)
        q = self.codebook[idx]
        if self.training:
            one_hot = F.one_hot(idx, len(self.codebook)).float()
            with torch.no_grad():
                self.size.mul_(self.decay).add_(one_hot.sum(0), alpha=1 - self.decay)
                self.mean.mul_(self.decay).add_(one_hot.t() @ z, alpha=1 - self.decay)
                self.codebook.copy_(self.mean / (self.size + 1e-5).unsqueeze(1))
        commit = self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, commit, idx


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec, self.vq = nn.Linear(6, 4), nn.Linear(4, 6), EMAQuantizer(8, 4)

    def forward(self, x):
        q, commit, idx = self.vq(self.enc(x))
        return self.dec(q), commit, idx


model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best, priorities = float("inf"), []
for x in torch.rand(4, 5, 6):
    out, commit, idx = model(x)
    error = (out - x).pow(2).mean(1)
    weights = (error.detach() / error.detach().max()).clamp(min=0.1)
    loss = (weights * error).mean() + commit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    priorities.extend(error.detach().abs().add(1e-6).tolist())
    best = min(best, loss.item())
    if loss.detach() + commit.detach() > 100 * best:
        break
print(best, len(priorities), idx.unique().numel())
