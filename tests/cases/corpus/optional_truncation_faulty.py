import argparse

import torch
import torch.nn as nn


def get_args():
    parser = argparse.ArgumentParser(description="Train a recurrent model on a long series")
    parser.add_argument("--hidden-size", type=int, default=10)
    parser.add_argument("--chunk", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--truncate", action="store_true", help="cut the gradient between chunks")
    return parser.parse_args()


class ElmanNet(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.rnn = nn.RNN(1, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, 1)

    def forward(self, x, hidden):
        states, hidden = self.rnn(x, hidden)
        return self.out(states), hidden


def make_series(n=120):
    t = torch.arange(n + 1, dtype=torch.float32)
    series = (torch.sin(t / 5) + 0.3 * torch.sin(t / 2)).view(1, -1, 1)
    return series[:, :-1], series[:, 1:]


def train(model, inputs, targets, optimizer, args):
    criterion = nn.MSELoss()
    hidden = torch.zeros(1, 1, args.hidden_size)
    total = 0.0
    for x, y in zip(inputs.split(args.chunk, dim=1), targets.split(args.chunk, dim=1)):
        if args.truncate:
            hidden = hidden.detach()
        prediction, hidden = model(x, hidden)
        loss = criterion(prediction, y)
        optimizer.zero_grad()
        loss.backward()  # warning: [carried-graph] # raises: RuntimeError "through the graph a second time"
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total


def main():
    args = get_args()
    torch.manual_seed(0)
    inputs, targets = make_series()
    model = ElmanNet(args.hidden_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        print(f"epoch {epoch}: {train(model, inputs, targets, optimizer, args):.4f}")


if __name__ == "__main__":
    main()
