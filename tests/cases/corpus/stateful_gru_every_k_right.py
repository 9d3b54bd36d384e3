import torch
import torch.nn as nn

torch.manual_seed(7)

SEQ, BATCH, FEATURES, HIDDEN = 200, 4, 3, 12
CHUNK = 5
DETACH_EVERY = 10


class StatefulGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(FEATURES, HIDDEN, batch_first=True)
        self.linear = nn.Linear(HIDDEN, FEATURES)

    def forward(self, x, h):
        out, h = self.gru(x, h)
        return self.linear(out), h


def chunks(signal, size):
    for start in range(0, signal.size(1) - size, size):
        yield signal[:, start : start + size], signal[:, start + 1 : start + size + 1]


def train(model, signal, optimizer, criterion):
    hidden = torch.zeros(1, BATCH, HIDDEN)
    losses = []
    for i, (x, y) in enumerate(chunks(signal, CHUNK)):
        hidden = hidden.detach()
        prediction, hidden = model(x, hidden)
        loss = criterion(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def main():
    phase = torch.rand(BATCH, 1, FEATURES) * 6.28
    time = torch.arange(SEQ).view(1, SEQ, 1) / 10
    signal = torch.sin(time + phase)
    model = StatefulGRU()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
    criterion = nn.MSELoss()
    for epoch in range(2):
        print("epoch", epoch, "loss", train(model, signal, optimizer, criterion))


if __name__ == "__main__":
    main()
