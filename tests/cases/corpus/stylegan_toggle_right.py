"""StyleGAN2-like alternation: the networks are frozen and thawed by a helper."""

import torch
import torch.nn as nn
import torch.nn.functional as F

LATENT, DIM, BATCH = 6, 4, 12


class MappedGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(LATENT, 12), nn.LeakyReLU(0.2), nn.Linear(12, 12), nn.LeakyReLU(0.2))
        self.synthesis = nn.Linear(12, DIM)

    def forward(self, noise):
        style = self.mapping(F.normalize(noise, dim=1))
        return self.synthesis(style)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(DIM, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.body(x)


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def sample_data():
    while True:
        yield torch.randn(BATCH, DIM).abs()


def d_logistic_loss(real_pred, fake_pred):
    return F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()


def g_nonsaturating_loss(fake_pred):
    return F.softplus(-fake_pred).mean()


def train(loader, generator, discriminator, g_optim, d_optim, iterations):
    for i in range(iterations):
        real_img = next(loader)

        requires_grad(generator, False)
        requires_grad(discriminator, True)
        noise = torch.randn(BATCH, LATENT)
        fake_img = generator(noise)
        d_loss = d_logistic_loss(discriminator(real_img), discriminator(fake_img))
        discriminator.zero_grad()
        d_loss.backward()
        d_optim.step()

        requires_grad(generator, True)
        requires_grad(discriminator, False)
        noise = torch.randn(BATCH, LATENT)
        fake_img = generator(noise)
        g_loss = g_nonsaturating_loss(discriminator(fake_img))
        generator.zero_grad()
        g_loss.backward()
        g_optim.step()
        print(f"{i}: d {d_loss.item():.4f}; g {g_loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    generator, discriminator = MappedGenerator(), Discriminator()
    g_optim = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.99))
    d_optim = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.99))
    train(sample_data(), generator, discriminator, g_optim, d_optim, iterations=4)
