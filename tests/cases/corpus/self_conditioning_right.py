"""Denoising diffusion on points in the plane, with self-conditioning."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=24, steps=20):
        super().__init__()
        self.time = nn.Embedding(steps, hidden)
        self.data = nn.Linear(dim, hidden)
        self.condition = nn.Linear(dim, hidden, bias=False)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, t, x_self_cond=None):
        h = self.data(x) + self.time(t)
        if x_self_cond is not None:
            h = h + self.condition(x_self_cond)
        return self.out(h)


class GaussianDiffusion(nn.Module):
    def __init__(self, model, steps=20, self_condition=True):
        super().__init__()
        self.model = model
        self.steps = steps
        self.self_condition = self_condition
        betas = torch.linspace(1e-3, 0.2, steps)
        self.register_buffer("alphas_cumprod", torch.cumprod(1 - betas, dim=0))

    def q_sample(self, x_start, t, noise):
        a = self.alphas_cumprod[t].unsqueeze(1)
        return a.sqrt() * x_start + (1 - a).sqrt() * noise

    def p_losses(self, x_start, t):
        noise = torch.randn_like(x_start)
        x = self.q_sample(x_start, t, noise)
        x_self_cond = None
        if self.self_condition and random.random() < 0.5:
            with torch.no_grad():
                x_self_cond = self.model(x, t)
        prediction = self.model(x, t, x_self_cond)
        return F.mse_loss(prediction, x_start)

    def forward(self, x):
        t = torch.randint(0, self.steps, (x.size(0),))
        return self.p_losses(x, t)


class Trainer:
    def __init__(self, diffusion, batches, lr=1e-3, accumulate=2):
        self.diffusion = diffusion
        self.batches = batches
        self.accumulate = accumulate
        self.opt = torch.optim.Adam(diffusion.parameters(), lr=lr)

    def train(self, num_steps):
        for step in range(num_steps):
            total_loss = 0.0
            for _ in range(self.accumulate):
                loss = self.diffusion(next(self.batches)) / self.accumulate
                total_loss += loss.item()
                loss.backward()
            nn.utils.clip_grad_norm_(self.diffusion.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
            print(f"step {step}: {total_loss:.4f}")


def moons():
    while True:
        angle = torch.rand(16) * torch.pi
        yield torch.stack([angle.cos(), angle.sin()], dim=1)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    Trainer(GaussianDiffusion(Denoiser()), moons()).train(num_steps=6)
