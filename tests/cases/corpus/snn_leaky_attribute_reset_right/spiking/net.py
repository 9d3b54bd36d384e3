import torch
from torch import nn

from .neurons import LIF


class SpikingNet(nn.Module):
    def __init__(self, inputs, hidden, classes, steps=5):
        super().__init__()
        self.steps = steps
        self.fc1 = nn.Linear(inputs, hidden)
        self.lif1 = LIF()
        self.fc2 = nn.Linear(hidden, classes)
        self.lif2 = LIF()

    def reset(self):
        for m in self.children():
            if isinstance(m, LIF):
                m.reset()

    def forward(self, x):
        out = []
        for _ in range(self.steps):
            s = self.lif1(self.fc1(x))
            out.append(self.lif2(self.fc2(s)))
        return torch.stack(out).sum(0)
