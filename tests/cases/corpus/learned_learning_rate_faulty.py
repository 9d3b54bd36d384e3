"""A learning rate that a module computes."""

import torch
import torch.nn as nn


class LearnedLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_lr = nn.Parameter(torch.tensor(-4.0))

    def forward(self):
        return self.log_lr.exp()


def fit(model, schedule, data, steps):
    opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step, (x, y) in zip(range(steps), data):
        for g in opt.param_groups:
            g["lr"] = schedule()  # warning: [live-hyperparameter]
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return opt


m = nn.Linear(2, 1)
opt = fit(m, LearnedLR(), [(torch.randn(4, 2), torch.randn(4, 1)) for _ in range(3)], 3)

# torch: torch.is_tensor(opt.param_groups[0]["lr"]) and opt.param_groups[0]["lr"].requires_grad
