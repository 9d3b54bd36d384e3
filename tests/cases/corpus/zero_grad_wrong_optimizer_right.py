import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 6, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[1].squeeze(0)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2))

    def forward(self, h):
        return self.fc(h)


def train_iter(encoder, head, enc_opt, head_opt, criterion, x, y):
    head_opt.zero_grad()
    enc_opt.zero_grad()
    loss = criterion(head(encoder(x)), y)
    loss.backward()
    enc_opt.step()
    head_opt.step()
    return loss.item()


def train_iters(n_iters, print_every=2, lr=0.01):
    encoder, head = Encoder(), Head()
    enc_opt = torch.optim.SGD(encoder.parameters(), lr=lr)
    head_opt = torch.optim.SGD(head.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    total = 0
    for it in range(1, n_iters + 1):
        x, y = torch.rand(4, 5, 3), torch.randint(0, 2, (4,))
        total += train_iter(encoder, head, enc_opt, head_opt, criterion, x, y)
        if it % print_every == 0:
            print(it, total / print_every)
            total = 0
    return encoder


encoder = train_iters(4)
