import torch
from torch import nn


class MaskedLinear(nn.Linear):
    def __init__(self, *args, sparsity=0.5, **kwargs):
        super().__init__(*args, **kwargs)
        self.register_buffer("mask", (torch.rand_like(self.weight) > sparsity).float())

    def forward(self, x):
        self.weight *= self.mask  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        return super().forward(x)


net = nn.Sequential(MaskedLinear(4, 8), nn.ReLU(), MaskedLinear(8, 2, sparsity=0.2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = nn.functional.cross_entropy(net(torch.randn(3, 4)), torch.tensor([0, 1, 1]))
    opt.zero_grad()
    loss.backward()
    opt.step()
