"""A sparse autoencoder whose sparsity penalty is back-propagated on its own, now and then."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SparseAutoencoder(nn.Module):
    def __init__(self, dim=10, code=16):
        super().__init__()
        self.encoder = nn.Linear(dim, code)
        self.decoder = nn.Linear(code, dim)

    def forward(self, x):
        code = torch.sigmoid(self.encoder(x))
        return self.decoder(code), code


def sparsity_penalty(code, target=0.1):
    rho = code.mean(dim=0).clamp(1e-4, 1 - 1e-4)
    return (target * torch.log(target / rho) + (1 - target) * torch.log((1 - target) / (1 - rho))).sum()


def train(model, loader, optimizer, epochs, probability=0.5, strength=1e-2):
    for epoch in range(epochs):
        penalised = 0
        for (x,) in loader:
            optimizer.zero_grad()
            reconstruction, code = model(x)
            loss = F.mse_loss(reconstruction, x)
            if random.random() < probability:
                loss = loss + strength * sparsity_penalty(code)
                penalised += 1
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}, penalised {penalised} of {len(loader)}")


@torch.no_grad()
def mean_activity(model, data):
    return model(data)[1].mean().item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    data = torch.rand(80, 10)
    model = SparseAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    train(model, DataLoader(TensorDataset(data), batch_size=8, shuffle=True), optimizer, epochs=2)
    print("mean activity", mean_activity(model, data))


if __name__ == "__main__":
    main()
