from functools import partial

import torch
import torch.nn as nn


def regularised(loss_fn, penalty, weight, out, target):
    return loss_fn(out, target) + weight * penalty


def l2(model):
    return sum(p.pow(2).sum() for p in model.parameters())


model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

for epoch in range(3):
    for _ in range(2):
        x, y = torch.randn(4, 5), torch.randn(4, 1)
        criterion = partial(regularised, nn.functional.mse_loss, l2(model), 1e-4)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
