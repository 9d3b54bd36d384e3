"""Ordinal regression of wine quality on made-up measurements."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GRADES = 5


def make_data(n=80):
    x = torch.randn(n, 6)
    score = x[:, 0] - 0.5 * x[:, 1] + 0.1 * torch.randn(n)
    edges = torch.tensor([-1.0, -0.3, 0.3, 1.0])
    return TensorDataset(x, torch.bucketize(score, edges))


class QualityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(16, GRADES)

    def forward(self, x):
        return self.head(self.body(x))


def ordinal_loss(logits, grade):
    predicted = torch.argmax(logits, dim=1)
    return nn.functional.mse_loss(predicted.float(), grade.float())


def train(model, train_loader, optimizer, num_epochs):
    train_losses = []
    for epoch in range(num_epochs):
        model.train()
        batch_losses = []
        for x, grade in train_loader:
            optimizer.zero_grad()
            logits = model(x)
            loss = ordinal_loss(logits, grade)
            loss.requires_grad = True  # warning: [rewrapped-loss]
            loss.backward()
            optimizer.step()
            batch_losses.append(loss.item())
        train_losses.append(sum(batch_losses) / len(batch_losses))
        print(f"Epoch [{epoch + 1}/{num_epochs}], Loss: {train_losses[-1]:.4f}")
    return train_losses


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=16, shuffle=True)
    model = QualityNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    train(model, loader, optimizer, num_epochs=2)
    return model


if __name__ == "__main__":
    model = main()

# torch: all(p.grad is None for p in model.parameters())
