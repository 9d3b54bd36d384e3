import torch
from torch import nn


class BetaVAE(nn.Module):
    def __init__(self, dim, hidden, latent):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, x):
        h = self.encode(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(logvar / 2) * torch.randn_like(mu)
        return self.decode(z), mu, logvar
