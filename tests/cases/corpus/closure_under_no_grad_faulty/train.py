import torch
import torch.nn as nn
from optimizers import Lookahead
from torch.utils.data import DataLoader, TensorDataset


class TwoLayer(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def make_closure(model, criterion, optimizer, x, y):
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        return loss

    return closure


def train(model, loader, criterion, optimizer, epochs):
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            loss = optimizer.step(make_closure(model, criterion, optimizer, x, y))
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,))), batch_size=8)
    model = TwoLayer(6, 16, 3)
    optimizer = Lookahead(model.parameters(), lr=0.1, sync_every=3)
    train(model, loader, nn.CrossEntropyLoss(), optimizer, epochs=2)


if __name__ == "__main__":
    main()
