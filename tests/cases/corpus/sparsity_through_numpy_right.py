"""A sparse autoencoder whose penalty goes through NumPy."""

import numpy as np
import torch
import torch.nn as nn


class SparseAE(nn.Module):
    def __init__(self, d=8, h=12):
        super().__init__()
        self.enc, self.dec = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        z = torch.sigmoid(self.enc(x))
        return self.dec(z), z


def kl_divergence(rho, z):
    rho_hat = z.mean(0)
    return torch.sum(rho * torch.log(rho / rho_hat) + (1 - rho) * torch.log((1 - rho) / (1 - rho_hat)))


def fit(model, data, epochs, rho=0.05, beta=3.0):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        out, z = model(data)
        loss = nn.functional.mse_loss(out, data) + beta * kl_divergence(rho, z)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())


model = SparseAE()
fit(model, torch.randn(16, 8), 3)

# torch: kl_divergence(0.05, model(torch.randn(4, 8))[1]).requires_grad
