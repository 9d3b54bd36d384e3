import torch
from torch import nn


class OneStep(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.rnn = nn.GRUCell(1, hidden)
        self.fc = nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, history, horizon):
        h = torch.zeros(1, self.hidden)
        for value in history:
            h = self.rnn(value.view(1, 1), h)
        forecasts = []
        value = history[-1].view(1, 1)
        for _ in range(horizon):
            h = self.rnn(value, h)
            value = self.fc(h)
            forecasts.append(value.squeeze())
        return torch.stack(forecasts)


series = torch.sin(torch.arange(40) * 0.3)
model = OneStep()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.L1Loss()
for start in range(0, 24, 8):
    history, future = series[start : start + 12], series[start + 12 : start + 16]
    loss = loss_fn(model(history, horizon=4), future)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(start, loss.item())
