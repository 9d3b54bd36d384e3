import numpy as np
import torch
import torch.nn as nn

# ---- data
rng = np.random.default_rng(0)
t = np.arange(0, 60, 0.1)
series = np.sin(t) + 0.1 * rng.standard_normal(len(t))


def sliding(series, lookback):
    X, y = [], []
    for i in range(len(series) - lookback):
        X.append(series[i : i + lookback])
        y.append(series[i + lookback])
    return torch.tensor(np.array(X), dtype=torch.float32).unsqueeze(-1), torch.tensor(np.array(y), dtype=torch.float32)


X, y = sliding(series, 10)
split = int(0.8 * len(X))


class LSTMRegressor(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.fc(out[:, -1]).squeeze(-1)


torch.manual_seed(0)
model = LSTMRegressor()
before = model.fc.weight.detach().clone()
loss_fn = nn.MSELoss()
optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
hist = np.zeros(5)
for epoch in range(5):
    model.train()
    pred = model(X[:split])
    loss = loss_fn(pred, y[:split])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    hist[epoch] = loss.item()
    model.eval()
    with torch.no_grad():
        test = loss_fn(model(X[split:]), y[split:])
    print(f"epoch {epoch} train {loss.item():.4f} test {test.item():.4f}")
# torch: not torch.equal(before, model.fc.weight)
