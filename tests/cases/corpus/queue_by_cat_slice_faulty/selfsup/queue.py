import torch
import torch.nn.functional as F


class NegativeQueue:
    def __init__(self, dim, size):
        self.size = size
        self.keys = F.normalize(torch.randn(size, dim), dim=1)

    def push(self, keys):
        self.keys = torch.cat([keys, self.keys], dim=0)[: self.size]
