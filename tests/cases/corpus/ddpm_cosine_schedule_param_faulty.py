import math

import torch
import torch.nn.functional as F
from torch import nn


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        emb = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        emb = t[:, None].float() * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPosEmb(8), nn.Linear(8, 16), nn.SiLU())
        self.net = nn.Sequential(nn.Linear(dim + 16, 16), nn.SiLU(), nn.Linear(16, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=8):
        super().__init__()
        self.model, self.timesteps = model, timesteps
        self.gamma = nn.Parameter(torch.linspace(-4, 4, timesteps))
        self.register_buffer("alphas_cumprod", torch.sigmoid(-self.gamma))

    def q_sample(self, x_start, t, noise):
        a = self.alphas_cumprod
        return extract(a.sqrt(), t, x_start.shape) * x_start + extract((1 - a).sqrt(), t, x_start.shape) * noise

    def forward(self, x):
        t = torch.randint(0, self.timesteps, (x.shape[0],))
        noise = torch.randn_like(x)
        return F.mse_loss(self.model(self.q_sample(x, t, noise), t), noise)


def cycle(dl):
    while True:
        for data in dl:
            yield data


diffusion = GaussianDiffusion(Denoiser())
opt = torch.optim.Adam(diffusion.parameters(), lr=8e-5, betas=(0.9, 0.99))
dl = cycle(torch.utils.data.DataLoader(torch.rand(12, 4), batch_size=4, shuffle=True))
step, train_num_steps, gradient_accumulate_every = 0, 2, 2
while step < train_num_steps:
    total_loss = 0.0
    for _ in range(gradient_accumulate_every):
        data = next(dl)
        loss = diffusion(data) / gradient_accumulate_every
        total_loss += loss.item()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    torch.nn.utils.clip_grad_norm_(diffusion.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    step += 1
