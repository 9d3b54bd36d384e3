import torch
from torch import nn
import torch.nn.functional as F


class Constrained:
    """Minimises a loss under a bound on the norm of the output, by gradient descent and ascent."""

    def __init__(self, net, bound=0.5, rho=1.0):
        self.net, self.bound, self.rho = net, bound, rho
        self.dual = torch.zeros((), requires_grad=True)
        self.primal_opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        self.dual_opt = torch.optim.SGD([self.dual], lr=0.1, maximize=True)

    def lagrangian(self, x, y):
        out = self.net(x)
        violation = out.pow(2).mean() - self.bound
        return F.mse_loss(out, y) + F.softplus(self.dual) * violation + 0.5 * self.rho * F.relu(violation) ** 2

    def step(self, x, y):
        value = self.lagrangian(x, y)
        self.primal_opt.zero_grad()
        self.dual_opt.zero_grad()
        value.backward()
        self.primal_opt.step()
        self.dual_opt.step()
        return value.item()


torch.manual_seed(0)
c = Constrained(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)))
for _ in range(3):
    x = torch.randn(10, 3)
    print(c.step(x, x[:, :2]))
