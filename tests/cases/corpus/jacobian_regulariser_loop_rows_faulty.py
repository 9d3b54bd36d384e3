import torch
from torch import nn


def jacobian(y, x, create_graph=False):
    rows = []
    for i in range(y.shape[1]):
        (g,) = torch.autograd.grad(y[:, i].sum(), x, create_graph=create_graph)  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        rows.append(g)
    return torch.stack(rows, dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 2))

    def forward(self, x):
        return self.f(x)


net = Net()
data = torch.randn(5, 3)


def report(net, data):
    x = data.clone().requires_grad_()
    jac = jacobian(net(x), x)
    return jac.flatten(1).norm(dim=1).mean().item()


optim = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    loss = net(data).pow(2).mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
    print(epoch, loss.item(), report(net, data))
