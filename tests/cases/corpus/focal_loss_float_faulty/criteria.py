import torch
import torch.nn.functional as F


class FocalLoss:
    def __init__(self, gamma=2.0, alpha=0.25):
        self.gamma = gamma
        self.alpha = alpha

    def __call__(self, logits, labels):
        bce = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        p_t = torch.exp(-bce)
        alpha_t = self.alpha * labels + (1 - self.alpha) * (1 - labels)
        focal = alpha_t * (1 - p_t) ** self.gamma * bce
        return focal.mean().item()


def build_criterion(name, **kwargs):
    if name == "focal":
        return FocalLoss(**kwargs)
    if name == "bce":
        return F.binary_cross_entropy_with_logits
    raise ValueError(f"unknown criterion: {name}")
