import torch
from torch import nn
import torch.nn.functional as F


class TwoTower(nn.Module):
    def __init__(self, users, items, d=6):
        super().__init__()
        self.u, self.i = nn.Embedding(users, d, sparse=True), nn.Embedding(items, d, sparse=True)
        self.bias = nn.Parameter(torch.zeros(items))

    def scores(self, users, items):
        return self.u(users) @ self.i(items).t() + self.bias[items]


class MultiOpt:
    def __init__(self, *opts):
        self.opts = opts

    def zero_grad(self):
        for o in self.opts:
            o.zero_grad()

    def step(self):
        for o in self.opts:
            o.step()


def loss_of(model, users, items):
    return F.cross_entropy(model.scores(users, items), torch.arange(len(users)))


torch.manual_seed(0)
model = TwoTower(20, 30)
opt = MultiOpt(
    torch.optim.SparseAdam([model.u.weight, model.i.weight], lr=1e-2),
    torch.optim.SGD([model.bias], lr=0.1),
)
for step in range(4):
    users, items = torch.randint(0, 20, (5,)), torch.randperm(30)[:5]
    opt.zero_grad()
    loss = loss_of(model, users, items)
    loss.backward()
    opt.step()
touched = (model.bias.grad != 0).sum().item()
# torch: touched <= 5
