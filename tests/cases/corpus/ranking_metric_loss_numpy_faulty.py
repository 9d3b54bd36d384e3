import numpy as np
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def dcg(relevance, order):
    gains = 2 ** relevance[order] - 1
    return float((gains / np.log2(np.arange(len(order)) + 2)).sum())


def ndcg_loss(scores, relevance):
    values = []
    for s, r in zip(scores.detach().cpu().numpy(), relevance.numpy()):
        ideal = dcg(r, np.argsort(-r))
        values.append(1.0 - dcg(r, np.argsort(-s)) / max(ideal, 1e-9))
    return torch.tensor(values).mean()


def listnet_loss(scores, relevance):
    return -(torch.softmax(relevance, -1) * torch.log_softmax(scores, -1)).sum(-1).mean()


def fit(model, queries, loss_fn, epochs=2):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    curve = []
    for _ in range(epochs):
        for x, r in queries:
            loss = loss_fn(model(x), r)
            loss.requires_grad = True  # warning: [rewrapped-loss]
            opt.zero_grad()
            loss.backward()
            opt.step()
            curve.append(loss.item())
    return curve


model = Scorer(5)
queries = [(torch.rand(3, 6, 5), torch.randint(0, 4, (3, 6)).float()) for _ in range(2)]
print(fit(model, queries, ndcg_loss))
# torch: model.net[0].weight.grad is None
