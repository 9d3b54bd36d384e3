import torch
from torch import nn


class StackedLSTM(nn.Module):
    def __init__(self, n_layers, n_in, n_hid):
        super().__init__()
        self.cells = nn.ModuleList([nn.LSTMCell(n_in if i == 0 else n_hid, n_hid) for i in range(n_layers)])
        self.n_hid = n_hid

    def forward(self, x, states):
        new_states = []
        for cell, (h, c) in zip(self.cells, states):
            h, c = cell(x, (h, c))
            x = h
            new_states.append((h, c))
        return x, new_states

    def initial(self, batch):
        return [(torch.zeros(batch, self.n_hid), torch.zeros(batch, self.n_hid)) for _ in self.cells]


def repackage(states):
    return [(h.detach(), c) for h, c in states]


lstm, out = StackedLSTM(2, 3, 5), nn.Linear(5, 3)
opt = torch.optim.SGD([*lstm.parameters(), *out.parameters()], lr=0.1)
data = torch.randn(12, 2, 3)
states = lstm.initial(2)
for start in range(0, 12, 4):
    states = repackage(states)
    loss = 0.0
    for t in range(start, min(start + 3, 11)):
        y, states = lstm(data[t], states)
        loss = loss + (out(y) - data[t + 1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
