import torch
import torch.nn as nn


class PromptLearner(nn.Module):
    """Learned context vectors before the fixed embedding of each class name."""

    def __init__(self, width, n_ctx=3):
        super().__init__()
        self.ctx = nn.Parameter(0.02 * torch.randn(n_ctx, width))
        self.width = width

    def embed_name(self, name):
        generator = torch.Generator().manual_seed(sum(map(ord, name)))
        return torch.randn(1, self.width, generator=generator)

    def forward(self, names):
        return torch.stack([torch.cat([self.ctx, self.embed_name(name)]) for name in names])
