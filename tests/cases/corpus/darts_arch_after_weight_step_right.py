"""Differentiable architecture search on a tiny cell; weights and architecture take turns."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MixedOp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ops = nn.ModuleList([nn.Identity(), nn.Linear(c, c), nn.Sequential(nn.Linear(c, c), nn.ReLU())])

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class Network(nn.Module):
    def __init__(self, c=6, layers=2, classes=3):
        super().__init__()
        self.cells = nn.ModuleList([MixedOp(c) for _ in range(layers)])
        self.classifier = nn.Linear(c, classes)
        self.alphas = nn.Parameter(1e-3 * torch.randn(layers, 3))

    def arch_parameters(self):
        return [self.alphas]

    def weight_parameters(self):
        return [p for n, p in self.named_parameters() if n != "alphas"]

    def forward(self, x):
        for cell, a in zip(self.cells, F.softmax(self.alphas, dim=-1)):
            x = cell(x, a)
        return self.classifier(x)


def train_epoch(queue, model, optimizer, architect, criterion):
    for (xt, yt), (xv, yv) in queue:
        loss_w = criterion(model(xt), yt)
        optimizer.zero_grad()
        loss_w.backward()
        optimizer.step()
        loss_a = criterion(model(xv), yv)
        architect.zero_grad()
        loss_a.backward()
        architect.step()


def make_queue(n):
    b = lambda: (torch.randn(8, 6), torch.randint(0, 3, (8,)))
    return [(b(), b()) for _ in range(n)]


torch.manual_seed(0)
net = Network()
optimizer = torch.optim.SGD(net.weight_parameters(), lr=0.05, momentum=0.9)
architect = torch.optim.Adam(net.arch_parameters(), lr=3e-4)
for epoch in range(2):
    train_epoch(make_queue(3), net, optimizer, architect, nn.CrossEntropyLoss())
