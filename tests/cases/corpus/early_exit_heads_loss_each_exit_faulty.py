import torch
from torch import nn


class EarlyExit(nn.Module):
    def __init__(self, depth=3, d=6, classes=3):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.ReLU()) for _ in range(depth))
        self.exits = nn.ModuleList(nn.Linear(d, classes) for _ in range(depth))

    def forward(self, x):
        for block, exit_ in zip(self.blocks, self.exits):
            x = block(x)
            yield exit_(x)


model = EarlyExit()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
ce = nn.CrossEntropyLoss()
for _ in range(2):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    opt.zero_grad()
    for k, logits in enumerate(model(x)):
        loss = ce(logits, y) / (k + 1)
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
