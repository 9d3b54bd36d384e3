import math
import torch
from torch import nn
import torch.nn.functional as F


def cosine_betas(T, s=0.008):
    t = torch.linspace(0, T, T + 1) / T
    f = torch.cos((t + s) / (1 + s) * math.pi / 2) ** 2
    return (1 - f[1:] / f[:-1]).clamp(0, 0.999)


def extract(a, t, shape):
    return a.gather(0, t).view(-1, *([1] * (len(shape) - 1)))


class Denoiser(nn.Module):
    def __init__(self, dim=2, width=32, T=50):
        super().__init__()
        self.time = nn.Embedding(T, width)
        self.inp = nn.Linear(dim, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)) + h)


class GaussianDiffusion(nn.Module):
    def __init__(self, model, T=50):
        super().__init__()
        self.model = model
        self.T = T
        betas = cosine_betas(T)
        acp = torch.cumprod(1 - betas, 0)
        self.register_buffer("sqrt_acp", acp.sqrt())
        self.register_buffer("sqrt_om", (1 - acp).sqrt())
        self.register_buffer("betas", betas)

    @torch.no_grad()
    def q_sample(self, x0, t, noise):
        return extract(self.sqrt_acp, t, x0.shape) * x0 + extract(self.sqrt_om, t, x0.shape) * noise

    @torch.inference_mode()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.T)):
            eps = self.model(x, torch.full((n,), i))
            x = (x - self.betas[i] / self.sqrt_om[i] * eps) / (1 - self.betas[i]).sqrt()
        return x

    def forward(self, x0):
        t = torch.randint(0, self.T, (x0.size(0),))
        noise = torch.randn_like(x0)
        x_t = self.q_sample(x0, t, noise)
        return F.mse_loss(self.model(x_t, t), noise)


def cycle(data, bs):
    while True:
        for i in torch.randperm(len(data)).split(bs):
            yield data[i]


torch.manual_seed(0)
diffusion = GaussianDiffusion(Denoiser())
opt = torch.optim.AdamW(diffusion.parameters(), lr=1e-3)
dl = cycle(torch.randn(64, 2) * 0.5 + 1, 16)
step = 0
while step < 20:
    loss = diffusion(next(dl))
    loss.backward()
    opt.step()
    opt.zero_grad()
    step += 1
print(diffusion.sample(4).mean().item())
