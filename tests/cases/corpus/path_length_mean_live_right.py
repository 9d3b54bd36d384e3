import math

import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, z=4, out=6):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(z, z), nn.LeakyReLU(0.2))
        self.synthesis = nn.Linear(z, out)

    def forward(self, noise):
        latent = self.style(noise)
        return torch.tanh(self.synthesis(latent)), latent


def g_path_regularize(fake, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(fake) / math.sqrt(fake.shape[1])
    (grad,) = torch.autograd.grad((fake * noise).sum(), latents, create_graph=True)
    path_lengths = grad.pow(2).sum(1).sqrt()
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    penalty = (path_lengths - path_mean.detach()).pow(2).mean()
    return penalty, path_mean.detach(), path_lengths


def train(iterations):
    generator, discriminator = Generator(), nn.Linear(6, 1)
    g_optim = torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.0, 0.99))
    mean_path_length = torch.zeros(())
    for i in range(iterations):
        fake, latents = generator(torch.randn(4, 4))
        g_loss = nn.functional.softplus(-discriminator(fake)).mean()
        g_optim.zero_grad()
        g_loss.backward()
        g_optim.step()
        fake, latents = generator(torch.randn(4, 4))
        path_loss, mean_path_length, _ = g_path_regularize(fake, latents, mean_path_length)
        g_optim.zero_grad()
        (2.0 * path_loss).backward()
        g_optim.step()
    return mean_path_length


mean = train(3)
# torch: mean.grad_fn is None
print(mean)
