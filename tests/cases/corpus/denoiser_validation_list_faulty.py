"""A denoiser whose validation losses are kept in a list."""

import math

import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, d))

    def forward(self, x):
        return x - self.body(x)


def run(epochs=2):
    model, mse = Denoiser(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_set = [(torch.randn(4, 6), torch.randn(4, 6)) for _ in range(3)]
    val_losses = []
    for epoch in range(epochs):
        model.train()
        for noisy, clean in train_set:
            loss = mse(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        for noisy, clean in train_set:
            val_loss = mse(model(noisy), clean)
            val_losses.append(val_loss)  # warning: [live-accumulator]
        print(epoch, 10 * math.log10(1.0 / float(sum(val_losses) / len(val_losses))))
    return val_losses


kept = run()

# torch: torch.is_tensor(kept[0]) and kept[0].requires_grad
