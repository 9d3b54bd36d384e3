"""Instance discrimination against the features that each image had in the last epoch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class IndexedImages(Dataset):
    def __init__(self, n=12):
        self.x = torch.randn(n, 6)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return i, self.x[i]


class Bank:
    def __init__(self, dim, tau=0.2):
        self.store = {}
        self.dim = dim
        self.tau = tau

    def lookup(self, ids):
        return torch.stack([self.store[int(i)] if int(i) in self.store else F.normalize(torch.randn(self.dim), dim=0) for i in ids])

    def update(self, ids, feats):
        for i, f in zip(ids, feats):
            self.store[int(i)] = f.detach()

    def loss(self, ids, feats):
        logits = feats @ self.lookup(ids).t() / self.tau
        return F.cross_entropy(logits, torch.arange(len(ids)))


def train(encoder, bank, loader, optimizer, epochs):
    for epoch in range(epochs):
        for ids, x in loader:
            feats = F.normalize(encoder(x), dim=1)
            loss = bank.loss(ids, feats)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bank.update(ids, feats)


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
train(encoder, Bank(4), DataLoader(IndexedImages(), batch_size=4), torch.optim.SGD(encoder.parameters(), lr=0.1), 3)
