import torch
import torch.nn as nn


class DTWLoss(nn.Module):
    """Dynamic time warping by a table of costs."""

    def forward(self, a, b):
        cost = torch.cdist(a, b)
        n, m = cost.shape
        rows = [[torch.tensor(0.0)] + [torch.tensor(1e4)] * m]
        for i in range(1, n + 1):
            row = [torch.tensor(1e4)]
            for j in range(1, m + 1):
                best = torch.min(torch.min(rows[i - 1][j], row[j - 1]), rows[i - 1][j - 1])
                row.append(cost[i - 1, j - 1] + best)
            rows.append(row)
        return rows[n][m]


class SeqModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 8, batch_first=True)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.gru(x)[0])


def fit(model, data, epochs=2, lr=1e-2):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    dtw = DTWLoss()
    for _ in range(epochs):
        for x, y in data:
            pred = model(x)
            loss = torch.stack([dtw(p, q) for p, q in zip(pred, y)]).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()


torch.manual_seed(0)
fit(SeqModel(), [(torch.randn(2, 5, 2), torch.randn(2, 4, 2)) for _ in range(2)])
