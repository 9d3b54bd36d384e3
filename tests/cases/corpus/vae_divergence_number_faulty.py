"""A variational autoencoder whose divergence becomes a number."""

import torch
import torch.nn.functional as F


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x, reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE, KLD


def train(epoch, model, train_loader, optimizer, device, beta=1.0, log_interval=10):
    model.train()
    train_loss = 0
    for batch_idx, (data, _) in enumerate(train_loader):
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        bce, kld = loss_function(recon_batch, data, mu, logvar)
        loss = bce + beta * kld.item()  # warning: [unreached-parameter]
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        if batch_idx % log_interval == 0:
            print(epoch, batch_idx * len(data), loss.item() / len(data))


from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.m, self.v, self.d = nn.Linear(6, 5), nn.Linear(5, 2), nn.Linear(5, 2), nn.Linear(2, 6)

    def forward(self, x):
        h = F.relu(self.e(x))
        mu, lv = self.m(h), self.v(h)
        return torch.sigmoid(self.d(mu)), mu, lv


vae = VAE()
train(0, vae, [(torch.rand(4, 6), 0)] * 2, torch.optim.Adam(vae.parameters()), "cpu")

# torch: vae.v.weight.grad is None
