import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.linear = nn.LSTMCell(1, 6), nn.Linear(6, 1)

    def forward(self, series):
        h, c = torch.zeros(series.size(0), 6), torch.zeros(series.size(0), 6)
        outs = []
        for x in series.split(1, dim=1):
            h, c = self.lstm1(x, (h, c))
            outs.append(self.linear(h))
        return torch.cat(outs, dim=1)


def fit(seq, series, target, steps):
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=3)
    for i in range(steps):
        print("STEP:", i)

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(series), target)
            loss.backward()
            return loss

        optimizer.step(closure)


data = torch.sin(torch.arange(0, 9).float()).repeat(3, 1)
seq = Net()
fit(seq, data[:, :-1], data[:, 1:], 2)
