"""A runner whose method clips before the backward."""

import torch


class Runner:
    def __init__(self, model, optimizer, criterion, clip_norm=5.0):
        self.model, self.optimizer, self.criterion, self.clip_norm = model, optimizer, criterion, clip_norm

    def _clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self._clip()
        self.optimizer.step()
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            mean = sum(self.step(x, y) for x, y in loader) / len(loader)
            print(epoch, mean)


from torch import nn

m = nn.Linear(3, 1)
nn.init.constant_(m.weight, 30.0)
Runner(m, torch.optim.SGD(m.parameters(), lr=1e-6), nn.MSELoss(), 1.0).fit([(torch.ones(4, 3), torch.zeros(4, 1))] * 2, 2)

# torch: m.weight.grad.norm() < 1.1
