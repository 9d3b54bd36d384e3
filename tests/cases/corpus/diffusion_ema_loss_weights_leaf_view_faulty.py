import torch
from torch import nn


class Schedule(nn.Module):
    def __init__(self, T):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(T))

    def normalise(self):
        w = self.weights.view(-1)
        w /= w.sum()  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"


class Denoiser(nn.Module):
    def __init__(self, d, T):
        super().__init__()
        self.emb = nn.Embedding(T, 8)
        self.net = nn.Sequential(nn.Linear(d + 8, 16), nn.SiLU(), nn.Linear(16, d))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.emb(t)], -1))


T = 10
betas = torch.linspace(1e-4, 0.02, T)
abar = torch.cumprod(1 - betas, 0)
model, sched = Denoiser(3, T), Schedule(T)
opt = torch.optim.AdamW([*model.parameters(), *sched.parameters()])
for step in range(2):
    sched.normalise()
    x0 = torch.randn(8, 3)
    t = torch.randint(0, T, (8,))
    eps = torch.randn_like(x0)
    a = abar[t].unsqueeze(1)
    pred = model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t)
    loss = (sched.weights[t].unsqueeze(1) * (pred - eps) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
