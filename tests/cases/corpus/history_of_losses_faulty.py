"""Matrix factorisation for recommendations, with the loss curve kept for plotting."""

from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class History:
    train: list = field(default_factory=list)
    val: list = field(default_factory=list)


class MatrixFactorization(nn.Module):
    def __init__(self, users, items, factors=6):
        super().__init__()
        self.user_factors = nn.Embedding(users, factors)
        self.item_factors = nn.Embedding(items, factors)
        self.user_bias = nn.Embedding(users, 1)
        self.item_bias = nn.Embedding(items, 1)

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(dim=1)
        return dot + self.user_bias(user).squeeze(1) + self.item_bias(item).squeeze(1)


def make_ratings(users, items, n):
    u, i = torch.randint(users, (n,)), torch.randint(items, (n,))
    taste, quality = torch.randn(users), torch.randn(items)
    return TensorDataset(u, i, taste[u] * quality[i] + 0.1 * torch.randn(n))


def fit(model, train_loader, val_loader, optimizer, epochs):
    criterion = nn.MSELoss()
    history = History()
    for epoch in range(epochs):
        model.train()
        for user, item, rating in train_loader:
            loss = criterion(model(user, item), rating)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.train.append(loss)  # warning: [live-accumulator]

        model.eval()
        with torch.no_grad():
            val = [criterion(model(user, item), rating) for user, item, rating in val_loader]
        history.val.append(torch.stack(val).mean().item())
        print(f"epoch {epoch}: validation {history.val[-1]:.4f}")
    return history


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_ratings(20, 15, 96), batch_size=16, shuffle=True)
    val_loader = DataLoader(make_ratings(20, 15, 32), batch_size=16)
    model = MatrixFactorization(20, 15)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    return fit(model, train_loader, val_loader, optimizer, epochs=2)


if __name__ == "__main__":
    history = main()

# torch: len(history.train) == 12
# torch: all(loss.grad_fn is not None for loss in history.train)
