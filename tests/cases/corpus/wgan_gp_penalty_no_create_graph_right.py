"""WGAN with a gradient penalty, as a class with a step for the critic."""
import torch
from torch import autograd, nn


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class WGAN:
    def __init__(self, dim=2, noise=4, lam=10.0):
        self.noise = noise
        self.lam = lam
        self.gen = mlp(noise, 16, dim)
        self.critic = mlp(dim, 16, 1)
        self.gen_opt = torch.optim.Adam(self.gen.parameters(), lr=1e-4, betas=(0.5, 0.9))
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-4, betas=(0.5, 0.9))
        self.log = {"critic": [], "gen": [], "gp": []}

    def gradient_penalty(self, real, fake):
        alpha = torch.rand(real.size(0), 1)
        mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        score = self.critic(mix)
        grads = autograd.grad(
            outputs=score,
            inputs=mix,
            grad_outputs=torch.ones_like(score),
            create_graph=True,
        )[0]
        return ((grads.norm(2, dim=1) - 1) ** 2).mean()

    def critic_step(self, real):
        fake = self.gen(torch.randn(real.size(0), self.noise)).detach()
        self.critic_opt.zero_grad()
        gp = self.gradient_penalty(real, fake)
        loss = self.critic(fake).mean() - self.critic(real).mean() + self.lam * gp
        loss.backward()
        self.critic_opt.step()
        self.log["critic"].append(loss.item())
        self.log["gp"].append(gp.item())
        return gp

    def gen_step(self, n):
        self.gen_opt.zero_grad()
        loss = -self.critic(self.gen(torch.randn(n, self.noise))).mean()
        loss.backward()
        self.gen_opt.step()
        self.log["gen"].append(loss.item())


torch.manual_seed(0)
gan = WGAN()
for it in range(6):
    for _ in range(3):
        gp = gan.critic_step(torch.randn(16, 2) + 2)
    gan.gen_step(16)
# torch: gp.requires_grad
