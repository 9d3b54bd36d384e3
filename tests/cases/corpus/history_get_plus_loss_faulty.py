import torch
from torch import nn


class Metrics:
    def __init__(self):
        self.values = {}

    def log(self, **kwargs):
        for k, v in kwargs.items():
            self.values[k] = self.values.get(k, 0) + v  # warning: [live-accumulator]

    def mean(self, n):
        return {k: float(v) / n for k, v in self.values.items()}


class BetaVAE(nn.Module):
    def __init__(self, d=8, z=2):
        super().__init__()
        self.enc = nn.Linear(d, 2 * z)
        self.dec = nn.Linear(z, d)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        rec = nn.functional.mse_loss(self.dec(z), x, reduction="sum") / len(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return rec, kl


torch.manual_seed(0)
vae = BetaVAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
metrics = Metrics()
steps = 0
for epoch in range(2):
    for _ in range(3):
        rec, kl = vae(torch.randn(6, 8))
        loss = rec + 4.0 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        metrics.log(rec=rec, kl=kl)
        steps += 1
print(metrics.mean(steps))
# torch: metrics.values["rec"].grad_fn is not None
