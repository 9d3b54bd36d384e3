import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class CausalAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.last_weights = None

    def forward(self, x):
        n = x.size(1)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.size(-1))
        future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        scores.masked_fill(future, float("-inf"))  # warning: [discarded-result]
        weights = scores.softmax(dim=-1)
        self.last_weights = weights.detach()
        return self.out(weights @ v)


class CharModel(nn.Module):
    def __init__(self, vocab=15, dim=12):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.attention = CausalAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.token(idx)
        x = x + self.attention(x)
        return self.head(self.norm(x))


def estimate_loss(model, loader, criterion):
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(x).transpose(1, 2), y) for x, y in loader]
    model.train()
    return torch.stack(losses).mean().item()


def train(model, train_loader, val_loader, optimizer, epochs):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for x, y in train_loader:
            loss = criterion(model(x).transpose(1, 2), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: val {estimate_loss(model, val_loader, criterion):.4f}")


def main():
    torch.manual_seed(0)
    text = torch.randint(0, 15, (40, 9))
    dataset = TensorDataset(text[:, :-1], text[:, 1:])
    model = CharModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train(model, DataLoader(dataset, batch_size=10), DataLoader(dataset, batch_size=20), optimizer, epochs=2)
    return model


if __name__ == "__main__":
    model = main()

# The first character looks at the last one.
# torch: model.attention.last_weights[0, 0, -1] > 0
