"""Optimizers by name, of which one is never cleared."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Solver:
    def __init__(self, nets, lr=1e-3):
        self.nets = nets
        self.optims = {name: torch.optim.Adam(net.parameters(), lr=lr) for name, net in nets.items()}

    def _reset_grad(self):
        for name in self.optims:
            self.optims[name].zero_grad()

    def train(self, batches):
        for x, y in batches:
            h = F.relu(self.nets["enc"](x))
            loss = F.cross_entropy(self.nets["clf"](h), y)
            self._reset_grad()
            loss.backward()
            for optim in self.optims.values():
                optim.step()


nets = {"enc": nn.Linear(4, 6), "clf": nn.Linear(6, 3)}
batch = (torch.randn(5, 4), torch.randint(0, 3, (5,)))
solver = Solver(nets, lr=0.0)
solver.train([batch] * 3)
g = nets["clf"].weight.grad.clone()
nets["clf"].zero_grad()
F.cross_entropy(nets["clf"](F.relu(nets["enc"](batch[0]))), batch[1]).backward()

# torch: torch.allclose(g, nets["clf"].weight.grad, atol=1e-5)
