import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, series, hidden, window):
        super().__init__()
        self.cell = nn.LSTMCell(series, hidden)
        self.score = nn.Linear(2 * hidden + window, 1)
        self.hidden = hidden

    def forward(self, x):
        batch, window, series = x.shape
        h, c = torch.zeros(batch, self.hidden), torch.zeros(batch, self.hidden)
        encoded = torch.zeros(batch, window, self.hidden)
        weighted = x.clone()
        for t in range(window):
            query = torch.cat([h, c], dim=1).unsqueeze(1).expand(-1, series, -1)
            e = self.score(torch.cat([query, x.transpose(1, 2)], dim=2)).squeeze(2)
            a = torch.softmax(e, dim=1)
            weighted[:, t] *= a  # error: [inplace-on-saved]
            h, c = self.cell(weighted[:, t], (h, c))
            encoded[:, t] = h
        return encoded


class Forecaster(nn.Module):
    def __init__(self, series=4, hidden=6, window=5):
        super().__init__()
        self.encoder = Encoder(series, hidden, window)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.encoder(x)[:, -1]).squeeze(1)


torch.manual_seed(0)
model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    running = 0.0
    for x, y in [(torch.randn(3, 5, 4), torch.randn(3)) for _ in range(2)]:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running:.4f}")
