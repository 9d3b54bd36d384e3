import torch
from torch import nn


class Recorder:
    def __init__(self):
        self.curve = torch.empty(0)
        self.best = None

    def add(self, value):
        self.curve = torch.cat([self.curve, value.view(1)])  # warning: [live-accumulator]

    def summary(self, last=5):
        return f"{self.curve[-last:].mean():.4f}"


def make_data(n):
    g = torch.Generator().manual_seed(1)
    x = torch.rand(n, 2, generator=g)
    return x, (x[:, 0] * x[:, 1]).unsqueeze(1)


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.a = nn.Linear(2, width)
        self.b = nn.Linear(width, 1)

    def forward(self, x):
        return self.b(nn.functional.softplus(self.a(x)))


def main():
    torch.manual_seed(0)
    net, rec = Net(), Recorder()
    opt = torch.optim.NAdam(net.parameters())
    x, y = make_data(64)
    for epoch in range(3):
        for xb, yb in zip(x.split(16), y.split(16)):
            loss = (net(xb) - yb).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            rec.add(loss)
        print(epoch, rec.summary())
    return rec


rec = main()
# torch: rec.curve.grad_fn is not None
