"""A learning rate that follows the loss down to a floor."""

import torch
import torch.nn as nn


def adjust_learning_rate(optimizer, loss, init_lr, floor=1e-5):
    lr = max(init_lr * loss, floor)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr  # warning: [live-hyperparameter]
    return lr


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.ELU(), nn.Linear(6, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        for _ in range(3):
            x = torch.randn(10, 6)
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        adjust_learning_rate(optimizer, loss, 0.01)
        print(epoch, float(optimizer.param_groups[0]["lr"]))
    return optimizer


opt = main()

# torch: opt.param_groups[0]["lr"].requires_grad
