import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class LogSpectra(Dataset):
    """Spectra of which a few are broken."""

    def __init__(self, n=36, bins=12):
        self.power = torch.rand(n, bins) + 0.05
        self.power[5] = -1.0
        self.target = self.power.clamp(min=0).mean(dim=1)

    def __len__(self):
        return len(self.power)

    def __getitem__(self, index):
        return self.power[index].log(), self.target[index]


class SpectrumRegressor(nn.Module):
    def __init__(self, bins=12):
        super().__init__()
        self.norm = nn.LayerNorm(bins)
        self.fc1 = nn.Linear(bins, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, x):
        return self.fc2(torch.nn.functional.gelu(self.fc1(self.norm(x)))).squeeze(1)


def train(model, loader, optimizer, criterion, accumulation, epoch):
    model.train()
    skipped = 0
    accumulated, micro_batches = 0, 0
    for inputs, target in loader:
        loss = criterion(model(inputs), target)
        if not math.isfinite(loss.item()):
            skipped += 1
            continue
        accumulated += loss / accumulation
        micro_batches += 1
        if micro_batches % accumulation == 0:
            optimizer.zero_grad()
            accumulated.backward()
            optimizer.step()
            print(f"epoch {epoch}: {accumulated.item():.4f}")
            accumulated = 0
    return skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(LogSpectra(), batch_size=args.batch_size)
    model = SpectrumRegressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        skipped = train(model, loader, optimizer, nn.MSELoss(), args.accumulation, epoch)
        print(f"skipped {skipped} batches")


if __name__ == "__main__":
    main()
