"""Networks that are built from a list of options, as in many image-to-image projects."""
import functools

import torch
import torch.nn as nn

ACTS = {
    "relu": functools.partial(nn.ReLU, inplace=True),
    "lrelu": functools.partial(nn.LeakyReLU, 0.2, inplace=True),
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "none": nn.Identity,
}


def block(cin, cout, norm="bn", act="relu"):
    layers = [nn.Conv2d(cin, cout, 3, padding=1)]
    if norm == "bn":
        layers.append(nn.BatchNorm2d(cout))
    layers.append(ACTS[act]())
    return nn.Sequential(*layers)


class Gate(nn.Module):
    def __init__(self, c, act):
        super().__init__()
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1), nn.Sigmoid())
        self.act = ACTS[act]()

    def forward(self, x):
        return x * self.act(self.squeeze(x))


class Translator(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        chans = cfg["channels"]
        body = []
        for i, (a, b) in enumerate(zip(chans, chans[1:])):
            body.append(block(a, b, cfg["norm"], cfg["act"]))
            if i in cfg["gates"]:
                body.append(Gate(b, cfg["gate_act"]))
        self.body = nn.Sequential(*body)
        self.out = block(chans[-1], 1, norm=None, act="tanh")

    def forward(self, x):
        return self.out(self.body(x))


CFG = {
    "channels": [1, 4, 4],
    "norm": "bn",
    "act": "relu",
    "gates": [0, 1],
    "gate_act": "none",
}


def fit(model, pairs, epochs, criterion=nn.L1Loss()):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for epoch in range(epochs):
        for src, dst in pairs:
            loss = criterion(model(src), dst)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


torch.manual_seed(0)
pairs = [(torch.rand(2, 1, 6, 6), torch.rand(2, 1, 6, 6)) for _ in range(2)]
fit(Translator(CFG), pairs, 2)
