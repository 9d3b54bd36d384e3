import numpy as np
import torch
import torch.nn as nn
from torch.autograd import grad


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        mods = []
        for a, b in zip(layers[:-2], layers[1:-1]):
            mods += [nn.Linear(a, b), nn.Tanh()]
        mods.append(nn.Linear(layers[-2], layers[-1]))
        self.net = nn.Sequential(*mods)

    def forward(self, t):
        return self.net(t)


class Solver:
    def __init__(self, n=16, max_iter=4):
        self.model = PINN([1, 8, 8, 1])
        self.t = torch.linspace(0, 1, n).view(-1, 1).requires_grad_(True)
        self.t0 = torch.zeros(1, 1)
        self.optimizer = torch.optim.LBFGS(self.model.parameters(), lr=0.1, max_iter=max_iter, history_size=5)
        self.iter = 0
        self.history = []

    def derivative(self, u, t):
        return grad(u, t, grad_outputs=torch.ones_like(u), create_graph=True)[0]

    def loss(self):
        self.u = self.model(self.t)
        u_t = self.derivative(self.u, self.t)
        residual = u_t + 2.0 * self.u - torch.exp(-self.t)
        ic = self.model(self.t0) - 1.0
        return residual.pow(2).mean() + ic.pow(2).mean()

    def closure(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.iter += 1
        self.history.append(loss.item())
        return loss

    def train(self, steps):
        for _ in range(steps):
            self.optimizer.step(self.closure)


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    solver = Solver()
    solver.train(2)
    print(solver.history[-1])
