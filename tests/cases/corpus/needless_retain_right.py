import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WeatherRNN(nn.Module):
    def __init__(self, inputs=3, hidden=8):
        super().__init__()
        self.rnn = nn.GRU(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)
        self.hidden_size = hidden

    def forward(self, x, h0):
        out, hn = self.rnn(x, h0)
        return self.head(out[:, -1]).squeeze(-1), hn


def synthetic(days=90, window=6):
    series = torch.randn(days, 3).cumsum(dim=0) / 5
    x = torch.stack([series[i : i + window] for i in range(days - window)])
    return TensorDataset(x, series[window:, 0])


def train(model, loader, optimizer, criterion, num_epochs):
    model.train()
    for epoch in range(num_epochs):
        h = torch.zeros(1, loader.batch_size, model.hidden_size)
        for x, y in loader:
            h = h.detach()
            prediction, h = model(x, h)
            loss = criterion(prediction, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}/{num_epochs}, loss {loss.item():.4f}")
    return loss


def still_in_memory(loss):
    """Can the tensors that the loss saved still be reached?"""
    try:
        return loss.grad_fn._saved_self is not None
    except RuntimeError:
        return False


def main():
    torch.manual_seed(0)
    loader = DataLoader(synthetic(), batch_size=12, drop_last=True)
    model = WeatherRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return train(model, loader, optimizer, nn.MSELoss(), num_epochs=2)


if __name__ == "__main__":
    last_loss = main()
    held = still_in_memory(last_loss)

# torch: not held
