"""A weight decay that follows the gap between two losses."""

import torch
import torch.nn as nn


def tune_decay(optimizer, train_loss, val_loss, base=1e-4):
    gap = val_loss - train_loss
    for group in optimizer.param_groups:
        group["weight_decay"] = base * torch.sigmoid(gap)  # warning: [live-hyperparameter]


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(3):
    x, y, xv, yv = torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 4), torch.randn(8, 1)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    val = nn.functional.mse_loss(model(xv), yv)
    tune_decay(opt, loss, val)

# torch: torch.is_tensor(opt.param_groups[0]["weight_decay"])
