import argparse

import torch
import torch.nn as nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--reduction", default="none")
    p.add_argument("--hidden", type=int, default=8)
    return p.parse_args([])


class Model(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


args = get_args()
model = Model(args.hidden)
opt = torch.optim.Adam(model.parameters())
loss_fn = nn.MSELoss(reduction="none")
weights = torch.tensor([1.0, 2.0, 0.5, 1.0])
for i in range(2):
    x, y = torch.randn(4, 3), torch.randn(4)
    loss = loss_fn(model(x), y) * weights
    loss = loss.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
