"""Influence functions: solve (H + damping) s = g by conjugate gradients."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LogisticNet(nn.Module):
    def __init__(self, features=5, hidden=6):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(1)


def flatten(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


class InfluenceEstimator:
    def __init__(self, model, x, y, damping=0.1):
        self.model = model
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.x, self.y = x, y
        self.damping = damping
        self.criterion = nn.BCEWithLogitsLoss()

    def gradient(self, x, y):
        loss = self.criterion(self.model(x), y)
        return flatten(torch.autograd.grad(loss, self.params)).detach()

    def hvp(self, vector):
        loss = self.criterion(self.model(self.x), self.y)
        grad = flatten(torch.autograd.grad(loss, self.params))
        self.model.zero_grad()
        grad.dot(vector).backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        return flatten([p.grad for p in self.params]) + self.damping * vector

    def solve(self, b, iterations=4):
        s, r = torch.zeros_like(b), b.clone()
        p, rs = r.clone(), r.dot(r)
        for _ in range(iterations):
            hp = self.hvp(p)
            alpha = rs / p.dot(hp)
            s, r = s + alpha * p, r - alpha * hp
            rs_new = r.dot(r)
            p, rs = r + rs_new / rs * p, rs_new
        return s


def train(model, loader, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()


def main():
    torch.manual_seed(0)
    x = torch.randn(40, 5)
    y = (x[:, 0] > 0).float()
    model = LogisticNet()
    train(model, DataLoader(TensorDataset(x, y), batch_size=10))
    estimator = InfluenceEstimator(model, x, y)
    s_test = estimator.solve(estimator.gradient(x[:1], y[:1]))
    scores = torch.stack([-s_test.dot(estimator.gradient(x[i : i + 1], y[i : i + 1])) for i in range(1, 6)])
    print("most harmful:", scores.argmax().item() + 1)


if __name__ == "__main__":
    main()
