"""A variational autoencoder whose epoch statistics are kept for plotting."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, dim=24, hidden=16, latent=3):
        super().__init__()
        self.encoder = nn.Linear(dim, hidden)
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = F.relu(self.encoder(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


def elbo(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce, kld


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.history = []

    def train_epoch(self, loader):
        self.model.train()
        total = 0
        for (x,) in loader:
            recon, mu, logvar = self.model(x)
            bce, kld = elbo(recon, x, mu, logvar)
            loss = bce + kld
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        self.history.append(total / len(loader.dataset))

    @torch.no_grad()
    def reconstruct(self, x):
        self.model.eval()
        return torch.sigmoid(self.model(x)[0])


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.rand(64, 24).round()), batch_size=16, shuffle=True)
    model = VAE()
    trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=1e-3))
    for epoch in range(3):
        trainer.train_epoch(loader)
        print(f"epoch {epoch}: {float(trainer.history[-1]):.3f}")
    return trainer


if __name__ == "__main__":
    trainer = main()
