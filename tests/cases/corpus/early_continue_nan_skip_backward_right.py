import math

import torch
from torch import nn


def train_epoch(model, loader, optimizer, accum=2):
    running, pending = 0.0, None
    for i, (x, y) in enumerate(loader):
        out = model(x)
        loss = nn.functional.mse_loss(out, y)
        if math.isnan(loss.item()):
            print("nan, skipping")
            optimizer.zero_grad()
            continue
        pending = loss if pending is None else pending + loss
        running += loss.item()
        if (i + 1) % accum:
            continue
        pending.backward()
        pending = None
        optimizer.step()
        optimizer.zero_grad()
    return running / len(loader)


model = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(6)]
for epoch in range(2):
    print(train_epoch(model, loader, opt))
