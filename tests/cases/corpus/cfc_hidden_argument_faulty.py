import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        chunk = self.series[i : i + self.length + 1]
        return torch.tensor(chunk[:-1], dtype=torch.float32).unsqueeze(-1), torch.tensor(chunk[1:], dtype=torch.float32)


class LiquidCell(nn.Module):
    def __init__(self, units):
        super().__init__()
        self.backbone = nn.Linear(units + 1, 16)
        self.ff1, self.ff2 = nn.Linear(16, units), nn.Linear(16, units)
        self.time_a, self.time_b = nn.Linear(16, units), nn.Linear(16, units)

    def forward(self, x, hx, ts):
        z = torch.tanh(self.backbone(torch.cat([x, hx], 1)))
        gate = torch.sigmoid(self.time_a(z) * ts + self.time_b(z))
        return torch.tanh(self.ff1(z)) * (1.0 - gate) + gate * torch.tanh(self.ff2(z))


class CfC(nn.Module):
    def __init__(self, units=8):
        super().__init__()
        self.cell, self.fc, self.units = LiquidCell(units), nn.Linear(units, 1), units

    def forward(self, x, hx=None):
        if hx is None:
            hx = torch.zeros(x.size(0), self.units, device=x.device)
        out = []
        for t in range(x.size(1)):
            hx = self.cell(x[:, t], hx, 1.0)
            out.append(self.fc(hx))
        return torch.cat(out, 1), hx


class Learner:
    def __init__(self, model, lr=0.01):
        self.model = model
        self.loss_fn = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr)
        self.hx = None

    def training_step(self, batch):
        x, y = batch
        y_hat, self.hx = self.model(x, self.hx)
        return self.loss_fn(y_hat, y)

    def fit(self, loader, epochs):
        history = []
        for _ in range(epochs):
            for batch in loader:
                loss = self.training_step(batch)
                self.optimizer.zero_grad()
                loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
                self.optimizer.step()
                history.append(loss.detach().cpu().numpy())
        return np.mean(history)


series = np.sin(np.linspace(0, 6, 44))
loader = DataLoader(Windows(series, 8), batch_size=12, drop_last=True)
print(Learner(CfC()).fit(loader, 2))
