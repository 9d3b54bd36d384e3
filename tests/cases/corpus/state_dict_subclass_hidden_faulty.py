import torch
from torch import nn


class AttrDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self[name] = value


class Core(nn.Module):
    def __init__(self, obs, hid):
        super().__init__()
        self.gru = nn.GRUCell(obs, hid)
        self.head = nn.Linear(hid, 1)

    def forward(self, x, state):
        h = self.gru(x, state.h)
        return self.head(h), AttrDict(h=h, t=state.t + 1)


def main():
    cfg = AttrDict(obs=3, hid=8, lr=1e-3, steps=5)
    net = Core(cfg.obs, cfg.hid)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    state = AttrDict(h=torch.zeros(4, cfg.hid), t=0)
    for _ in range(cfg.steps):
        x, y = torch.randn(4, cfg.obs), torch.randn(4, 1)
        pred, state = net(x, state)
        loss = (pred - y).square().mean()
        opt.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        opt.step()
        print(state.t, loss.item())


main()
