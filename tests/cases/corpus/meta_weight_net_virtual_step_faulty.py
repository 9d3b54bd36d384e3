import copy

import torch
import torch.nn.functional as F
from torch import nn


class VNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, cost):
        return self.net(cost)


def functional(x, weight, bias):
    return F.linear(x, weight, bias)


def virtual(weight, bias, loss, lr):
    grads = torch.autograd.grad(loss, (weight, bias))
    return weight.detach() - lr * grads[0], bias.detach() - lr * grads[1]


def main(steps=2):
    torch.manual_seed(2)
    model, vnet = nn.Linear(4, 2), VNet()
    opt_model = torch.optim.SGD(model.parameters(), lr=0.1)
    opt_vnet = torch.optim.Adam(vnet.parameters(), lr=1e-3)
    for step in range(steps):
        x, y = torch.rand(6, 4), torch.randint(0, 2, (6,))
        cost = F.cross_entropy(functional(x, model.weight, model.bias), y, reduction="none")
        weights = vnet(cost.detach().unsqueeze(1)).squeeze(1)
        w, b = virtual(model.weight, model.bias, (weights * cost).mean(), lr=0.1)
        meta_x, meta_y = torch.rand(6, 4), torch.randint(0, 2, (6,))
        meta_loss = F.cross_entropy(functional(meta_x, w, b), meta_y)
        opt_vnet.zero_grad()
        meta_loss.backward()  # error: [detached-loss] # raises: RuntimeError "not require grad"
        opt_vnet.step()

        cost = F.cross_entropy(model(x), y, reduction="none")
        with torch.no_grad():
            weights = vnet(cost.unsqueeze(1)).squeeze(1)
        opt_model.zero_grad()
        (weights * cost).mean().backward()
        opt_model.step()


main()
