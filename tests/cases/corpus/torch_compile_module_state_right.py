import torch
from torch import nn


class StreamingConv(nn.Module):
    def __init__(self, ch, k):
        super().__init__()
        self.conv = nn.Conv1d(ch, ch, k)
        self.k = k
        self.register_buffer("past", torch.zeros(1, ch, k - 1), persistent=False)

    def forward(self, x):
        x = torch.cat([self.past.expand(x.size(0), -1, -1), x], dim=-1)
        y = torch.relu(self.conv(x))
        self.past = y[:1, :, -(self.k - 1) :].detach()
        return y


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[StreamingConv(2, 3) for _ in range(2)])
        self.out = nn.Conv1d(2, 1, 1)

    def forward(self, x):
        return self.out(self.layers(x))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
signal = torch.randn(1, 2, 24)
for chunk in signal.split(8, dim=-1):
    pred = model(chunk)
    loss = nn.functional.l1_loss(pred, chunk.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
