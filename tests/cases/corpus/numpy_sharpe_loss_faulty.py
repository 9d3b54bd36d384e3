"""Portfolio allocation: maximise the Sharpe ratio of the weights that a network proposes."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

ASSETS, LOOKBACK = 4, 6


def make_returns(days=80, seed=3):
    rng = np.random.default_rng(seed)
    drift = np.array([0.001, 0.0005, -0.0002, 0.0008])
    return (drift + 0.01 * rng.standard_normal((days, ASSETS))).astype(np.float32)


class Allocator(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(ASSETS, 10, batch_first=True)
        self.head = nn.Linear(10, ASSETS)

    def forward(self, history):
        output, _ = self.lstm(history)
        return F.softmax(self.head(output[:, -1]), dim=-1)


def sharpe_loss(weights, future, eps=1e-6):
    weights = weights.detach().cpu().numpy()
    portfolio = (weights * future.numpy()).sum(axis=1)
    ratio = np.mean(portfolio) / (np.std(portfolio) + eps)
    return torch.tensor(-ratio)


def batches(returns, size):
    windows = [(returns[i : i + LOOKBACK], returns[i + LOOKBACK]) for i in range(len(returns) - LOOKBACK)]
    np.random.shuffle(windows)
    for start in range(0, len(windows) - size + 1, size):
        history, future = zip(*windows[start : start + size])
        yield torch.from_numpy(np.stack(history)), torch.from_numpy(np.stack(future))


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    returns = make_returns()
    model = Allocator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    for epoch in range(3):
        total, count = 0.0, 0
        for history, future in batches(returns, size=24):
            optimizer.zero_grad()
            weights = model(history)
            loss = sharpe_loss(weights, future)
            loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            count += 1
        scheduler.step()
        print(f"epoch {epoch}: sharpe {-total / count:.4f}")


if __name__ == "__main__":
    main()
