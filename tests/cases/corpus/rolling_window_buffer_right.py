"""An online forecaster that keeps its input window in one preallocated tensor."""

import torch
import torch.nn as nn
import torch.nn.functional as F

WINDOW = 5


class SlidingWindow:
    def __init__(self, size, channels):
        self.data = torch.zeros(size, channels)

    def push(self, sample):
        self.data = torch.cat([self.data[1:], sample.unsqueeze(0)])

    def flat(self):
        return self.data.view(-1)


class Forecaster(nn.Module):
    def __init__(self, channels=2, hidden=12):
        super().__init__()
        self.fc1 = nn.Linear(WINDOW * channels, hidden)
        self.fc2 = nn.Linear(hidden, channels)

    def forward(self, window):
        return self.fc2(torch.relu(self.fc1(window)))


def stream(n, channels=2):
    t = torch.arange(n, dtype=torch.float32) / 3
    return torch.stack([torch.sin(t + k) for k in range(channels)], dim=1)


def train(model, optimizer, samples, horizon):
    window = SlidingWindow(WINDOW, samples.size(1))
    for sample in samples[:WINDOW]:
        window.push(sample)
    losses, pending = [], 0.0
    for i, sample in enumerate(samples[WINDOW:], start=1):
        prediction = model(window.flat())
        pending = pending + F.mse_loss(prediction, sample)
        window.push(sample)
        if i % horizon == 0:
            optimizer.zero_grad()
            pending.backward()
            optimizer.step()
            losses.append(pending.item() / horizon)
            pending = 0.0
    return losses


def main():
    torch.manual_seed(0)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        losses = train(model, optimizer, stream(45), horizon=4)
        print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
