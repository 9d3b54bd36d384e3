import torch
from torch import nn


class CausalConv1d(nn.Module):
    """A depthwise convolution that keeps its window between steps."""

    def __init__(self, dim, kernel):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, kernel) * 0.1)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.kernel = kernel

    def step(self, x, conv_state):
        conv_state.copy_(torch.roll(conv_state, shifts=-1, dims=-1))  # error: [inplace-on-saved]
        conv_state[:, :, -1] = x
        y = (conv_state * self.weight).sum(-1) + self.bias
        return torch.sigmoid(y), conv_state


class Cell(nn.Module):
    def __init__(self, dim, kernel=3):
        super().__init__()
        self.inp = nn.Linear(dim, dim)
        self.conv = CausalConv1d(dim, kernel)
        self.out = nn.Linear(dim, dim)
        self.dim, self.kernel = dim, kernel

    def forward(self, x, state=None):
        if state is None:
            state = x.new_zeros(x.size(0), self.dim, self.kernel)
        outs = []
        for t in range(x.size(1)):
            y, state = self.conv.step(self.inp(x[:, t]), state)
            outs.append(self.out(y))
        return torch.stack(outs, 1), state


def fit(cell, n_steps, lr):
    opt = torch.optim.Adam(cell.parameters(), lr=lr)
    log = []
    for step in range(n_steps):
        x = torch.rand(2, 5, cell.dim)
        y, _ = cell(x)
        loss = ((y[:, :-1] - x[:, 1:]) ** 2).mean()
        opt.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        opt.step()
        log.append(loss.item())
    return log


if __name__ == "__main__":
    torch.manual_seed(0)
    print(fit(Cell(4), 2, 1e-3))
