import torch
import torch.nn as nn

SEQ, BATCH, EPOCHS = 5, 4, 2


class TimeSeries(torch.utils.data.IterableDataset):
    def __init__(self, length):
        self.series = torch.sin(torch.arange(length) / 3.0)

    def __iter__(self):
        for i in range(0, len(self.series) - SEQ - 1, SEQ):
            yield self.series[i : i + SEQ].unsqueeze(-1), self.series[i + 1 : i + SEQ + 1].unsqueeze(-1)


class Stacked(nn.Module):
    def __init__(self, hidden=6, layers=2):
        super().__init__()
        self.cells = nn.ModuleList([nn.LSTMCell(1 if i == 0 else hidden, hidden) for i in range(layers)])
        self.readout = nn.Linear(hidden, 1)
        self.hidden = hidden

    def zero_state(self, b):
        return [(torch.zeros(b, self.hidden), torch.zeros(b, self.hidden)) for _ in self.cells]

    def forward(self, x, state):
        out = []
        for t in range(x.size(1)):
            inp = x[:, t]
            for i, cell in enumerate(self.cells):
                state[i] = cell(inp, state[i])
                inp = state[i][0]
            out.append(self.readout(inp))
        return torch.stack(out, 1), state


def detach_(state):
    for i, (h, c) in enumerate(state):
        h, c = h.detach(), c.detach()


torch.manual_seed(0)
net = Stacked()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(EPOCHS):
    state = net.zero_state(BATCH)
    for x, y in torch.utils.data.DataLoader(TimeSeries(120), batch_size=BATCH, drop_last=True):
        detach_(state)
        pred, state = net(x, state)
        loss = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError
        opt.step()
    print(epoch, loss.item())
