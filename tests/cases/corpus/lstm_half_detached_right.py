import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SensorStream(Dataset):
    """Consecutive windows of one long multichannel signal."""

    def __init__(self, length=240, window=12, channels=2):
        t = torch.arange(length, dtype=torch.float32) / 6
        self.signal = torch.stack([t.sin(), (t * 1.7).cos()], dim=1)[:, :channels]
        self.signal = self.signal + 0.01 * torch.randn_like(self.signal)
        self.window = window

    def __len__(self):
        return (len(self.signal) - 1) // self.window

    def __getitem__(self, index):
        start = index * self.window
        chunk = self.signal[start : start + self.window + 1]
        return chunk[:-1], chunk[1:]


class Predictor(nn.Module):
    def __init__(self, channels=2, hidden=10):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden, batch_first=True)
        self.out = nn.Linear(hidden, channels)

    def forward(self, x, state=None):
        y, state = self.lstm(x, state)
        return self.out(y), state


def fit(model, loader, optimizer, loss_function, n_epochs):
    curve = []
    for _ in range(n_epochs):
        state = None
        epoch_loss = 0.0
        for x, y in loader:
            if state is not None:
                h, c = state
                state = (h.detach(), c.detach())
            y_hat, state = model(x, state)
            loss = loss_function(y_hat, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        curve.append(epoch_loss / len(loader))
    return curve


def main():
    torch.manual_seed(5)
    loader = DataLoader(SensorStream(), batch_size=1, shuffle=False)
    model = Predictor()
    curve = fit(model, loader, torch.optim.Adam(model.parameters(), lr=5e-3), nn.MSELoss(), n_epochs=2)
    print(["%.4f" % value for value in curve])


if __name__ == "__main__":
    main()
