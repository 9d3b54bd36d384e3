import torch
from losses import PerceptualLoss, charbonnier
from torch import nn


def run(use_pixel=False):
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
    perceptual = PerceptualLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for _ in range(2):
        low, high = torch.rand(2, 1, 8, 8), torch.rand(2, 1, 8, 8)
        out = net(low)
        loss = perceptual(out, high)
        if use_pixel:
            loss = loss + charbonnier(out, high)
        optimizer.zero_grad()
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "not require grad"
        optimizer.step()


if __name__ == "__main__":
    run()
