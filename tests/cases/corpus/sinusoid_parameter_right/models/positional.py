import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    """A table that starts as the sinusoids of the paper and is trained from there."""

    def __init__(self, dim, max_len):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = torch.zeros(max_len, dim)
        table[:, 0::2] = torch.sin(position * div_term)
        table[:, 1::2] = torch.cos(position * div_term)
        self.table = nn.Parameter(table)

    def forward(self, x):
        return x + self.table[: x.size(1)]
