import torch
from torch import nn


class EpisodicMemory(nn.Module):
    """Slots that are read by attention and written by a gate."""

    def __init__(self, slots, width):
        super().__init__()
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.gate = nn.Linear(width, slots)
        self.register_buffer("slots", torch.zeros(slots, width))

    def read(self, query):
        weights = torch.softmax(self.key(query) @ self.slots.t(), dim=-1)
        return weights @ self.slots

    def write(self, x):
        gate = torch.sigmoid(self.gate(x)).mean(0).unsqueeze(1)
        content = self.value(x).mean(0, keepdim=True)
        self.slots = self.slots * (1 - gate) + gate * content
