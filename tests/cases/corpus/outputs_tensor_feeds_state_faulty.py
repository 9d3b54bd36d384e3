import torch
from torch import nn


class VanillaRNN(nn.Module):
    """The states are written into one tensor, and the next step reads the last one from there."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.w_ih = nn.Parameter(torch.randn(input_size, hidden_size) * 0.1)
        self.w_hh = nn.Parameter(torch.randn(hidden_size, hidden_size) * 0.1)
        self.b = nn.Parameter(torch.zeros(hidden_size))

    def forward(self, x):
        batch, steps, _ = x.shape
        states = torch.zeros(batch, steps + 1, self.hidden_size)
        for t in range(steps):
            states[:, t + 1] = torch.tanh(x[:, t] @ self.w_ih + states[:, t] @ self.w_hh + self.b)  # error: [inplace-on-saved]
        return states[:, 1:]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = VanillaRNN(3, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.rnn(x))


def step(model, batch, criterion, optimizer=None):
    x, y = batch
    logits = model(x)
    loss = criterion(logits.flatten(0, 1), y.flatten())
    if optimizer is not None:
        optimizer.zero_grad()
        loss.backward()  # raises: RuntimeError
        optimizer.step()
    return loss.item(), (logits.argmax(-1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for _ in range(3):
            x = torch.randn(4, 5, 3)
            step(model, (x, (x.sum(-1) > 0).long()), nn.CrossEntropyLoss(), optimizer)
        with torch.no_grad():
            print(step(model, (x, (x.sum(-1) > 0).long()), nn.CrossEntropyLoss()))
