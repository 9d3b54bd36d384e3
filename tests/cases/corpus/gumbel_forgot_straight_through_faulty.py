import torch
import torch.nn as nn
import torch.nn.functional as F


class Router(nn.Module):
    """Chooses one expert for each sample with Gumbel noise."""

    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(experts)])
        for e in self.experts:
            e.requires_grad_(False)

    def pick(self, logits, tau=1.0):
        g = -torch.log(-torch.log(torch.rand_like(logits) + 1e-9) + 1e-9)
        soft = F.softmax((logits + g) / tau, dim=-1)
        hard = torch.zeros_like(soft).scatter_(1, soft.argmax(-1, keepdim=True), 1.0)
        return hard

    def forward(self, x):
        w = self.pick(self.gate(x))
        stacked = torch.stack([e(x) for e in self.experts], dim=1)
        return (w.unsqueeze(-1) * stacked).sum(1)


class Runner:
    def __init__(self, model, lr=0.1):
        self.model = model
        self.optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=lr)
        self.best = None

    def run_step(self, x, y):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(x), y)
        loss.backward()  # error: [detached-loss] # raises: RuntimeError
        self.optimizer.step()
        if self.best is None or loss.item() < self.best:
            self.best = loss.item()


torch.manual_seed(0)
runner = Runner(Router(4, 3))
for _ in range(3):
    x = torch.randn(6, 4)
    runner.run_step(x, x.flip(1))
print(runner.best)
