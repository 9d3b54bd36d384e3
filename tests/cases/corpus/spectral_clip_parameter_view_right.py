import torch
from torch import nn


class LipschitzLinear(nn.Module):
    def __init__(self, i, o, coeff=0.9, iters=1):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(o, i)), nn.Parameter(torch.zeros(o))
        self.coeff, self.iters = coeff, iters
        self.register_buffer("u", nn.functional.normalize(torch.randn(o), dim=0))

    def project(self):
        u = self.u
        for _ in range(self.iters):
            v = nn.functional.normalize(self.weight.detach().t() @ u, dim=0)
            u = nn.functional.normalize(self.weight.detach() @ v, dim=0)
        sigma = torch.dot(u, self.weight.detach() @ v)
        self.u.copy_(u)
        factor = max(1.0, float(sigma) / self.coeff)
        with torch.no_grad():
            self.weight.div_(factor)

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


class IResBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Sequential(LipschitzLinear(d, 2 * d), nn.ELU(), LipschitzLinear(2 * d, d))

    def forward(self, x):
        return x + self.g(x)


def constrain(model):
    for m in model.modules():
        if hasattr(m, "project"):
            m.project()


model = nn.Sequential(IResBlock(3), IResBlock(3))
opt = torch.optim.Adamax(model.parameters(), lr=1e-3)
for itr in range(2):
    loss = model(torch.rand(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    constrain(model)
