import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        states = []
        for block in self.blocks:
            x = torch.tanh(block(x))
            states.append(x)
        return states


@torch.no_grad()
def extract(backbone, x):
    return torch.stack(backbone(x), dim=1)


class Probe(nn.Module):
    def __init__(self, layers=3, classes=2):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(layers))
        self.out = nn.Linear(8, classes)

    def forward(self, states):
        weights = self.mix.softmax(0)
        return self.out((weights[None, :, None] * states).sum(1))


backbone, probe = Backbone().eval(), Probe()
optimizer = torch.optim.Adam(probe.parameters(), lr=1e-2)
for epoch in range(2):
    for x, y in [(torch.randn(5, 8), torch.randint(0, 2, (5,))) for _ in range(2)]:
        states = extract(backbone, x)
        loss = F.cross_entropy(probe(states), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
