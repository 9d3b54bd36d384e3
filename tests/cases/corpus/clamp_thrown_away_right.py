"""Colour calibration: learn a 3x3 matrix whose output must stay in [0, 1]."""

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 20


class ColorMatrix(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(3) + 0.2 * torch.randn(3, 3))
        self.offset = nn.Parameter(torch.zeros(3))

    def forward(self, rgb):
        out = rgb @ self.matrix.t() + self.offset
        return out.clamp(0.0, 1.0)


def chart(n=24):
    rgb = torch.rand(n, 3)
    camera = (rgb * torch.tensor([1.3, 0.9, 1.1]) + 0.2).clamp(0.0, 1.0)
    return camera, rgb


def calibrate(model, camera, reference, optimizer, scheduler, steps):
    history = []
    for step in range(steps):
        optimizer.zero_grad()
        estimate = model(camera)
        loss = F.mse_loss(estimate, reference)
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        history.append(loss.item())
        if step % 5 == 0:
            print(f"step {step:3d} mse {loss.item():.5f}")
    return history


def main():
    torch.manual_seed(4)
    camera, reference = chart()
    model = ColorMatrix()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    calibrate(model, camera, reference, optimizer, scheduler, STEPS)
    with torch.no_grad():
        return model(torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0]]))


if __name__ == "__main__":
    corrected = main()

# torch: corrected.max() <= 1 and corrected.min() >= 0
