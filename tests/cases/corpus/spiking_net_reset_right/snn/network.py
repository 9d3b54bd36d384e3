import torch.nn as nn

from .neuron import LIF


class SpikingMLP(nn.Module):
    def __init__(self, sizes, beta):
        super().__init__()
        self.fc1 = nn.Linear(sizes[0], sizes[1])
        self.lif1 = LIF(beta)
        self.fc2 = nn.Linear(sizes[1], sizes[2])
        self.lif2 = LIF(beta)

    def reset(self):
        for module in self.modules():
            if isinstance(module, LIF):
                module.reset()

    def forward(self, x):
        return self.lif2(self.fc2(self.lif1(self.fc1(x))))
