import heapq
import itertools

import torch
from torch import nn


class SelfPaced:
    """Trains on the easiest examples first; the hard ones wait in a heap."""

    def __init__(self, model, lr, keep):
        self.model, self.keep = model, keep
        self.optimizer = torch.optim.Adagrad(model.parameters(), lr=lr)
        self.criterion = nn.BCEWithLogitsLoss(reduction="none")
        self.waiting, self.tick = [], itertools.count()

    def difficulty(self, x, y):
        losses = self.criterion(self.model(x).squeeze(-1), y)
        for i, each in enumerate(losses):
            heapq.heappush(self.waiting, (each.item(), next(self.tick), x[i], y[i]))

    def learn(self):
        chosen = [heapq.heappop(self.waiting) for _ in range(min(self.keep, len(self.waiting)))]
        x, y = torch.stack([c[2] for c in chosen]), torch.stack([c[3] for c in chosen])
        loss = self.criterion(self.model(x).squeeze(-1), y).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
pacer = SelfPaced(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1)), 0.05, keep=3)
for epoch in range(3):
    for x in torch.rand(3, 6, 5):
        pacer.difficulty(x, torch.randint(2, (6,)).float())
        print(epoch, pacer.learn(), len(pacer.waiting))
