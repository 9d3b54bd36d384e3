import torch
import torch.nn as nn
import torch.nn.functional as F


class MixedOp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(width, width), nn.Sequential(nn.Linear(width, width), nn.Tanh()), nn.Identity()])

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class SuperNet(nn.Module):
    def __init__(self, width=8, cells=2, classes=3):
        super().__init__()
        self.stem = nn.Linear(5, width)
        self.cells = nn.ModuleList(MixedOp(width) for _ in range(cells))
        self.head = nn.Linear(width, classes)
        self.alphas = nn.Parameter(1e-3 * torch.randn(cells, 3))

    def weights(self):
        return [p for n, p in self.named_parameters() if n != "alphas"]

    def forward(self, x):
        x = F.relu(self.stem(x))
        for cell, alpha in zip(self.cells, self.alphas):
            x = cell(x, F.softmax(alpha, dim=-1))
        return self.head(x)


def search(net, train_batches, valid_batches, epochs=2):
    w_opt = torch.optim.SGD(net.weights(), lr=0.05, momentum=0.9)
    a_opt = torch.optim.Adam([net.alphas], lr=3e-3)
    for epoch in range(epochs):
        for (x, y), (xv, yv) in zip(train_batches, valid_batches):
            train_loss = F.cross_entropy(net(x), y)
            valid_loss = F.cross_entropy(net(xv), yv)
            w_opt.zero_grad()
            train_loss.backward()
            w_opt.step()  # error: [parameter-updated-before-backward]
            a_opt.zero_grad()
            valid_loss.backward()  # raises: RuntimeError "modified by an inplace operation"
            a_opt.step()
        print(epoch, train_loss.item(), valid_loss.item())


def batches(n):
    return [(torch.randn(6, 5), torch.randint(0, 3, (6,))) for _ in range(n)]


search(SuperNet(), batches(3), batches(3))
