"""Online regression that smooths its objective over the last few samples."""
from collections import deque

import torch
from torch import nn


class Stream:
    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n = n

    def __iter__(self):
        for _ in range(self.n):
            x = torch.randn(3, generator=self.g)
            yield x, x.prod()


class OnlineLearner:
    def __init__(self, window=4):
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optim = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.recent = deque(maxlen=window)
        self.curve = []

    def observe(self, x, y):
        self.recent.append((x, y))
        objective = sum((self.net(a) - b).pow(2).squeeze() for a, b in self.recent) / len(self.recent)
        self.optim.zero_grad()
        objective.backward()
        self.optim.step()
        self.curve.append(objective.item())


torch.manual_seed(0)
learner = OnlineLearner()
for x, y in Stream(12):
    learner.observe(x, y)
print(learner.curve[-1])
