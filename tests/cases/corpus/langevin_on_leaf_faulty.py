"""An energy model that is trained by contrast with samples of its own."""
import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(dim, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)


class LangevinSampler:
    def __init__(self, energy, steps=4, size=0.05, noise=0.01):
        self.energy, self.steps, self.size, self.noise = energy, steps, size, noise

    def __call__(self, x):
        x = x.clone().detach().requires_grad_(True)
        for _ in range(self.steps):
            x += self.noise * torch.randn_like(x)  # error: [inplace-on-leaf] # raises: RuntimeError
            (g,) = torch.autograd.grad(self.energy(x).sum(), x)
            x = (x - self.size * g.clamp(-0.1, 0.1)).detach().requires_grad_(True)
        return x.detach()


def contrastive_divergence(energy, data, sampler, opt, reg=0.1):
    fake = sampler(torch.rand_like(data) * 2 - 1)
    e_pos, e_neg = energy(data), energy(fake)
    loss = e_pos.mean() - e_neg.mean() + reg * (e_pos.pow(2) + e_neg.pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(energy.parameters(), 0.1)
    opt.step()
    return loss.item()


torch.manual_seed(0)
energy = Energy()
opt = torch.optim.Adam(energy.parameters(), lr=1e-3, betas=(0.0, 0.999))
for it in range(3):
    print(contrastive_divergence(energy, torch.randn(16, 2) * 0.3, LangevinSampler(energy), opt))
