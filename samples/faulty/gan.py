"""A generative adversarial network that learns a two-dimensional ring."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

LATENT_DIM = 8
BATCH_SIZE = 32
EPOCHS = 2


class Generator(nn.Module):
    def __init__(self, latent_dim, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def make_ring(n):
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.1)
        nn.init.zeros_(m.bias)


def train():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(make_ring(128)), batch_size=BATCH_SIZE, shuffle=True)

    netG = Generator(LATENT_DIM).to(device).apply(weights_init)
    netD = Discriminator().to(device).apply(weights_init)
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()

    for epoch in range(EPOCHS):
        for (real,) in loader:
            real = real.to(device)
            b_size = real.size(0)
            real_label = torch.ones(b_size, device=device)
            fake_label = torch.zeros(b_size, device=device)

            # (1) Update D: maximize log(D(x)) + log(1 - D(G(z)))
            netD.zero_grad()
            errD_real = criterion(netD(real), real_label)
            noise = torch.randn(b_size, LATENT_DIM, device=device)
            fake = netG(noise)
            errD_fake = criterion(netD(fake), fake_label)
            errD = errD_real + errD_fake
            errD.backward()
            optimizerD.step()

            # (2) Update G: maximize log(D(G(z)))
            netG.zero_grad()
            errG = criterion(netD(fake), real_label)
            errG.backward()
            optimizerG.step()

        print(f"[{epoch + 1}/{EPOCHS}] loss_D {errD.item():.4f} loss_G {errG.item():.4f}")


def main():
    torch.manual_seed(999)
    train()


if __name__ == "__main__":
    main()
