import logging
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger(__name__)


class VAE(nn.Module):
    def __init__(self, d=6, z=2):
        super().__init__()
        self.enc = nn.Linear(d, 8)
        self.mu, self.logvar = nn.Linear(8, z), nn.Linear(8, z)
        self.dec = nn.Sequential(nn.Linear(z, 8), nn.ReLU(), nn.Linear(8, d))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(recon, x, mu, logvar, beta=1.0):
    rec = F.mse_loss(recon, x, reduction="sum") / x.size(0)
    kld = -0.5 * torch.mean(torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1))
    return {"loss": rec + beta * kld, "rec": rec, "kld": kld}


class Experiment:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.metrics = defaultdict(float)

    def run_epoch(self, loader):
        self.model.train()
        for x in loader:
            out, mu, logvar = self.model(x)
            losses = vae_loss(out, x, mu, logvar)
            self.optimizer.zero_grad()
            losses["loss"].backward()
            self.optimizer.step()
            for key, value in losses.items():
                self.metrics[key] += value.item()
        return {k: float(v) / len(loader) for k, v in self.metrics.items()}


def main():
    exp = Experiment(VAE(), 1e-3)
    for epoch in range(2):
        stats = exp.run_epoch([torch.rand(4, 6) for _ in range(3)])
        logger.info("epoch %d %s", epoch, stats)
    return exp


exp = main()
