import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, dim, latent):
        super().__init__()
        self.fc1 = nn.Linear(dim, 16)
        self.fc2 = nn.Linear(16, latent)

    def forward(self, x):
        return self.fc2(F.elu(self.fc1(x)))


class Decoder(nn.Module):
    def __init__(self, latent, dim):
        super().__init__()
        self.fc1 = nn.Linear(latent, 16)
        self.fc2 = nn.Linear(16, dim)

    def forward(self, z):
        return self.fc2(F.elu(self.fc1(z)))


class DenoisingAutoencoder:
    def __init__(self, dim=8, latent=3, lr=1e-2, noise=0.1):
        self.encoder = Encoder(dim, latent)
        self.decoder = Decoder(latent, dim)
        self.noise = noise
        params = list(self.encoder.parameters()) + list(self.decoder.parameters())
        self.optimizer = torch.optim.Adam(params, lr=lr)

    def loss(self, x):
        corrupted = x + self.noise * torch.randn_like(x)
        return F.mse_loss(self.decoder(self.encoder(corrupted)), x)

    def train_on_batch(self, x):
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        self.apply_gradients()
        return loss.item()

    def apply_gradients(self):
        self.optimizer.step()

    @torch.no_grad()
    def reconstruct(self, x):
        return self.decoder(self.encoder(x))


def run(autoencoder, loader, epochs):
    for epoch in range(epochs):
        losses = [autoencoder.train_on_batch(x) for (x,) in loader]
        print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


torch.manual_seed(0)
data = torch.randn(60, 3) @ torch.randn(3, 8)
autoencoder = DenoisingAutoencoder()
start = [p.clone() for p in autoencoder.encoder.parameters()]
run(autoencoder, DataLoader(TensorDataset(data), batch_size=12, shuffle=True), epochs=2)
final_error = F.mse_loss(autoencoder.reconstruct(data), data).item()
print("reconstruction error", final_error)

# torch: not any(torch.equal(a, b) for a, b in zip(start, autoencoder.encoder.parameters()))
