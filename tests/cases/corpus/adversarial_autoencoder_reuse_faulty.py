import torch
from torch import nn
from types import SimpleNamespace


def build(cfg):
    enc = nn.Sequential(nn.Linear(cfg.x, cfg.h), nn.ReLU(), nn.Linear(cfg.h, cfg.z))
    dec = nn.Sequential(nn.Linear(cfg.z, cfg.h), nn.ReLU(), nn.Linear(cfg.h, cfg.x), nn.Sigmoid())
    disc = nn.Sequential(nn.Linear(cfg.z, cfg.h), nn.ReLU(), nn.Linear(cfg.h, 1))
    return nn.ModuleDict({"enc": enc, "dec": dec, "disc": disc})


def optimisers(nets, lr):
    return {
        "ae": torch.optim.Adam([*nets["enc"].parameters(), *nets["dec"].parameters()], lr=lr),
        "disc": torch.optim.Adam(nets["disc"].parameters(), lr=lr),
        "gen": torch.optim.Adam(nets["enc"].parameters(), lr=lr),
    }


def phases(nets, opts, x):
    bce = nn.functional.binary_cross_entropy_with_logits
    losses = {}
    z = nets["enc"](x)
    losses["rec"] = nn.functional.binary_cross_entropy(nets["dec"](z), x)
    opts["ae"].zero_grad()
    losses["rec"].backward()
    opts["ae"].step()

    d_real = nets["disc"](torch.randn_like(z))
    d_fake = nets["disc"](z.detach())
    losses["disc"] = bce(d_real, torch.ones_like(d_real)) + bce(d_fake, torch.zeros_like(d_fake))
    opts["disc"].zero_grad()
    losses["disc"].backward()
    opts["disc"].step()

    g = nets["disc"](z)
    losses["gen"] = bce(g, torch.ones_like(g))
    opts["gen"].zero_grad()
    losses["gen"].backward()  # error: [double-backward] # raises: RuntimeError "second time"
    opts["gen"].step()
    return {k: v.item() for k, v in losses.items()}


cfg = SimpleNamespace(x=6, h=12, z=2, lr=1e-3, epochs=2)
nets = build(cfg)
opts = optimisers(nets, cfg.lr)
for epoch in range(cfg.epochs):
    for batch in torch.rand(2, 4, 6):
        print(phases(nets, opts, batch))
