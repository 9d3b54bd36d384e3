import itertools
import torch
from torch import nn
import torch.nn.functional as F


class Shared(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 10), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(10, 1) for _ in range(tasks)])


def train_step(model, x, ys, opt):
    stats = []
    for head, y in zip(model.heads, ys):
        h = model.trunk(x)
        opt.zero_grad()
        loss = F.mse_loss(head(h), y)
        loss.backward()
        opt.step()
        stats.append(loss.item())
    return stats


torch.manual_seed(0)
model = Shared(3)
opt = torch.optim.SGD(itertools.chain(model.trunk.parameters(), model.heads.parameters()), lr=0.01)
for step in range(2):
    x = torch.randn(6, 4)
    print(train_step(model, x, [x[:, i : i + 1] ** 2 for i in range(3)], opt))
