import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.momentum = momentum
        self.running_mean, self.running_var = torch.zeros(features), torch.ones(features)

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0, unbiased=False)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
        return self.gain * (x - self.running_mean) / (self.running_var + 1e-5).sqrt()


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 6), ActNorm(6), nn.ReLU(), nn.Linear(6, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)

    def _batch(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x), y)

    def run(self, batches):
        for n, batch in enumerate(batches, start=1):
            loss = self._batch(batch)
            self.opt.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
            self.opt.step()
            print(f"{n}: {loss.item():.3f}")


Trainer().run((torch.rand(8, 4), torch.rand(8, 1)) for _ in range(3))
