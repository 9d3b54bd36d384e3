import torch
from torch import nn


class PerceptualLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.vgg = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
        for p in self.vgg.parameters():
            p.requires_grad = False

    def features(self, x):
        with torch.no_grad():
            return self.vgg(x)

    def forward(self, pred, target):
        return nn.functional.l1_loss(self.features(pred), self.features(target))  # warning: [detached-loss]
