import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LSTMCell(nn.Module):
    """An LSTM cell with layer normalisation of the gates."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.ih = nn.Linear(input_size, 4 * hidden_size)
        self.hh = nn.Linear(hidden_size, 4 * hidden_size, bias=False)
        self.norm = nn.LayerNorm(4 * hidden_size)

    def forward(self, x, state):
        h, c = state
        gates = self.norm(self.ih(x) + self.hh(h))
        i, f, g, o = gates.chunk(4, dim=1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        h = o * torch.tanh(c)
        return h, c


class SequenceClassifier(nn.Module):
    def __init__(self, input_size, hidden_size, classes):
        super().__init__()
        self.hidden_size = hidden_size
        self.cell = LSTMCell(input_size, hidden_size)
        self.fc = nn.Linear(hidden_size, classes)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.hidden_size)
        c = x.new_zeros(x.size(0), self.hidden_size)
        for x_t in x.unbind(dim=1):
            h, c = self.cell(x_t, (h, c))
        return self.fc(h)


def train(model, loader, loss_fn, opt, epochs):
    for epoch in range(epochs):
        hits = 0
        for x, y in loader:
            opt.zero_grad()
            logits = model(x)
            loss = loss_fn(logits, y)
            loss.backward()
            opt.step()
            hits += (logits.argmax(1) == y).sum().item()
        print(f"{epoch}: accuracy {hits / len(loader.dataset):.3f}")


def main():
    torch.manual_seed(0)
    x = torch.randn(40, 6, 3)
    y = (x.sum(dim=(1, 2)) > 0).long()
    model = SequenceClassifier(3, 8, 2)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    train(model, DataLoader(TensorDataset(x, y), batch_size=10), nn.CrossEntropyLoss(), optimizer, epochs=2)


if __name__ == "__main__":
    main()
