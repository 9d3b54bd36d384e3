import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ArcMargin(nn.Module):
    def __init__(self, n_in, n_out, s=8.0, m=0.3):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        nn.init.xavier_uniform_(self.weight)
        self.s, self.cos_m, self.sin_m = s, math.cos(m), math.sin(m)

    def forward(self, x, label):
        cosine = F.linear(F.normalize(x), F.normalize(self.weight))
        sine = (1.0 - cosine.pow(2)).clamp(min=1e-7).sqrt()
        phi = cosine * self.cos_m - sine * self.sin_m
        one_hot = F.one_hot(label, cosine.size(1)).float()
        return self.s * (one_hot * phi + (1 - one_hot) * cosine)


def train(model, metric, loader):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD([{"params": model.parameters()}, {"params": metric.parameters()}], lr=0.1)
    for data, label in loader:
        output = metric(model(data), label)
        loss = criterion(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = (output.argmax(1) == label).float().mean()
        print(f"loss {loss.item():.4f} accuracy {accuracy.item():.2f}")


model, metric = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4)), ArcMargin(4, 3)
train(model, metric, [(torch.randn(5, 6), torch.randint(0, 3, (5,))) for _ in range(2)])
