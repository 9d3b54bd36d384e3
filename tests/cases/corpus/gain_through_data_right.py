"""A block that scales its activation through `.data`."""

import torch
import torch.nn as nn


class GradScaleBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, gain):
        h = torch.exp(-self.fc1(x).abs())
        h = h * gain
        return self.fc2(h)


torch.manual_seed(0)
block = GradScaleBlock(4)
opt = torch.optim.SGD(block.parameters(), lr=0.0)
x = torch.randn(5, 4)
for step in range(2):
    opt.zero_grad()
    loss = block(x, 3.0).pow(2).sum()
    loss.backward()
    opt.step()
got = block.fc1.weight.grad.clone()
h = torch.exp(-block.fc1(x).abs())
ref = torch.autograd.grad(block.fc2(h * 3.0).pow(2).sum(), block.fc1.weight)[0]

# torch: block.fc1.weight.grad is not None
