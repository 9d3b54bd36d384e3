import torch
from torch import nn


class Value(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = torch.optim.SGD(self.parameters(), lr=1e-3)

    def forward(self, x):
        return self.net(x)

    def mse(self, target, prediction):
        return (target - prediction).pow(2).mean()

    def sgd(self, target, prediction):
        self.optimizer.zero_grad()
        self.mse(target, prediction).backward()
        self.optimizer.step()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2), nn.Softmax(dim=-1))
        self.optimizer = torch.optim.SGD(self.parameters(), lr=1e-3)

    def forward(self, x):
        return self.net(x)

    def clipped(self, new, old, advantage, eps=0.2):
        ratio = new / old
        return torch.min(ratio * advantage, ratio.clamp(1 - eps, 1 + eps) * advantage)

    def sga(self, values):
        self.optimizer.zero_grad()
        objective = -torch.mean(torch.cat(values))
        objective.backward()  # error: [double-backward] # raises: RuntimeError
        self.optimizer.step()
