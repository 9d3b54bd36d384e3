"""A hidden state that is never detached, and the popular remedy."""

import torch
import torch.nn as nn


class Oscillator(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(1 + hidden, hidden)
        self.h2o = nn.Linear(hidden, 1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((x, hidden), dim=1)))
        return self.h2o(hidden), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden)


def signal(n):
    t = torch.arange(n + 1, dtype=torch.float32) / 4
    wave = torch.sin(t).view(-1, 1, 1)
    return wave[:-1], wave[1:]


def train(model, optimizer, criterion, inputs, targets, seq_len=5):
    hidden = model.init_hidden()
    history = []
    for start in range(0, len(inputs), seq_len):
        hidden = hidden.detach()
        loss = 0
        for x, y in zip(inputs[start : start + seq_len], targets[start : start + seq_len]):
            output, hidden = model(x, hidden)
            loss = loss + criterion(output, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item() / seq_len)
    return history


def main():
    torch.manual_seed(0)
    inputs, targets = signal(40)
    model = Oscillator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(3):
        history = train(model, optimizer, nn.MSELoss(), inputs, targets)
        print(f"epoch {epoch}: {sum(history) / len(history):.4f}")


if __name__ == "__main__":
    main()
