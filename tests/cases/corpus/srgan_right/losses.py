import torch
from torch import nn


class PerceptualLoss(nn.Module):
    """Adversarial + image + feature + total-variation loss."""

    def __init__(self):
        super().__init__()
        features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).eval()
        for param in features.parameters():
            param.requires_grad = False
        self.features = features
        self.mse = nn.MSELoss()

    def forward(self, out_labels, out_images, target_images):
        adversarial = torch.mean(1 - out_labels)
        perception = self.mse(self.features(out_images), self.features(target_images))
        image = self.mse(out_images, target_images)
        return image + 0.001 * adversarial + 0.006 * perception + 2e-8 * tv_loss(out_images)


def tv_loss(x):
    h_tv = torch.pow(x[:, :, 1:, :] - x[:, :, :-1, :], 2).sum()
    w_tv = torch.pow(x[:, :, :, 1:] - x[:, :, :, :-1], 2).sum()
    return 2 * (h_tv + w_tv) / x.size(0)
