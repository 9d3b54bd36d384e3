"""A function that trains a GAN and clears one of the two."""

import torch


def train_gan(G, D, loader, optimizer_G, optimizer_D, criterion, device, latent_dim, epochs):
    for epoch in range(epochs):
        for real, _ in loader:
            real = real.to(device)
            b = real.size(0)
            valid, fake_label = torch.ones(b, 1, device=device), torch.zeros(b, 1, device=device)
            z = torch.randn(b, latent_dim, device=device)
            fake = G(z)
            d_loss = criterion(D(real), valid) + criterion(D(fake.detach()), fake_label)
            d_loss.backward()  # warning: [missing-zero-grad]
            optimizer_D.step()

            optimizer_G.zero_grad()
            g_loss = criterion(D(fake), valid)
            g_loss.backward()
            optimizer_G.step()
        print(f"[{epoch}/{epochs}] d {d_loss.item():.3f} g {g_loss.item():.3f}")


from torch import nn

G = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))
D = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
train_gan(G, D, [(torch.randn(4, 2), 0)] * 3, og, od, nn.BCEWithLogitsLoss(), "cpu", 3, 2)

# torch: D[0].weight.grad is not None
