import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 12), nn.ELU())
        self.depth, self.normal = nn.Linear(12, 1), nn.Linear(12, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h), self.normal(h)


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.log_vars = nn.Parameter(torch.zeros(2))
        self.optimizer = torch.optim.Adam([*model.parameters(), self.log_vars], lr=lr)

    def criterion(self, outputs, targets):
        errors = torch.stack([(o - t).abs().mean() for o, t in zip(outputs, targets)])
        return (torch.exp(-self.log_vars) * errors + self.log_vars).sum()

    def fit(self, loader):
        for step, (x, *targets) in enumerate(loader):
            loss = self.criterion(self.model(x), targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            print(step, loss.item(), self.log_vars.tolist())


torch.manual_seed(0)
Trainer(MultiTask()).fit([(torch.randn(4, 6), torch.randn(4, 1), torch.randn(4, 3)) for _ in range(3)])
