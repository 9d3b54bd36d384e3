"""Hand-written momentum on top of a second-order penalty."""
import torch
from torch import nn


class Momentum:
    def __init__(self, params, lr=0.05, mu=0.9):
        self.params = list(params)
        self.lr, self.mu = lr, mu
        self.velocity = [torch.zeros_like(p) for p in self.params]

    def step(self, grads):
        with torch.no_grad():
            for i, (p, g) in enumerate(zip(self.params, grads)):
                self.velocity[i] = self.mu * self.velocity[i] + g.detach()
                p -= self.lr * self.velocity[i]


def sharpness_aware_loss(net, x, y, weight=0.1):
    loss = nn.functional.mse_loss(net(x), y)
    grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
    return loss + weight * sum(g.pow(2).sum() for g in grads)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
opt = Momentum(net.parameters())
for it in range(3):
    x = torch.randn(8, 2)
    loss = sharpness_aware_loss(net, x, x.prod(1, keepdim=True))
    opt.step(torch.autograd.grad(loss, list(net.parameters())))
    print(loss.item())
