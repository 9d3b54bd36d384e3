import torch
import torch.nn as nn


class LossProportionalLR:
    def __init__(self, optimizer, base_lr, floor=1e-4):
        self.optimizer = optimizer
        self.base_lr = base_lr
        self.floor = floor
        self.first = None

    def step(self, loss):
        if self.first is None:
            self.first = loss.item()
        ratio = loss.item() / self.first
        for group in self.optimizer.param_groups:
            group["lr"] = self.base_lr * ratio + self.floor


def rosenbrock(xy):
    x, y = xy
    return (1 - x) ** 2 + 5 * (y - x**2) ** 2


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.xy = nn.Parameter(torch.tensor([-0.5, 0.8]))

    def forward(self):
        return rosenbrock(self.xy)


model = Surrogate()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
scheduler = LossProportionalLR(optimizer, 1e-2)
for it in range(6):
    loss = model()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step(loss)
lr = optimizer.param_groups[0]["lr"]
# torch: isinstance(lr, float)
