import contextlib

import torch
from torch import nn


@contextlib.contextmanager
def frozen(*modules):
    flags = [[p.requires_grad for p in m.parameters()] for m in modules]
    for m in modules:
        for p in m.parameters():
            p.requires_grad_(False)
    try:
        yield
    finally:
        for m, fs in zip(modules, flags):
            for p, f in zip(m.parameters(), fs):
                p.requires_grad_(f)


gen = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
disc = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3)


def g_step(n):
    with frozen(disc):
        loss = -disc(gen(torch.randn(n, 3))).mean()
    g_opt.zero_grad()
    loss.backward()
    g_opt.step()


def d_step(n):
    with torch.no_grad():
        fake = gen(torch.randn(n, 3))
    loss = disc(fake).mean() - disc(torch.randn(n, 2)).mean()
    d_opt.zero_grad()
    loss.backward()
    d_opt.step()


for _ in range(2):
    d_step(4)
    g_step(4)
