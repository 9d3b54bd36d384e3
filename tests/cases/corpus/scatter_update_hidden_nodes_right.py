import torch
from torch import nn


class NodeUpdater(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.init = nn.Parameter(torch.randn(n, d))
        self.cell = nn.GRUCell(d, d)

    def forward(self, order, msgs):
        h = self.init.clone()
        for node, msg in zip(order, msgs):
            new = self.cell(msg.unsqueeze(0), h[node].unsqueeze(0))
            h = h.index_copy(0, torch.tensor([node]), new)
        return h


model, out = NodeUpdater(4, 6), nn.Linear(6, 1)
opt = torch.optim.Adam([*model.parameters(), *out.parameters()])
for _ in range(2):
    h = model([0, 1, 2, 1], torch.randn(4, 6))
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
