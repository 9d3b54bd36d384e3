import torch
import torch.nn as nn
from torch.nn import Parameter


def l2normalize(v, eps=1e-12):
    return v / (v.norm() + eps)


class SpectralNorm(nn.Module):
    def __init__(self, module, name="weight", power_iterations=1):
        super().__init__()
        self.module, self.name, self.power_iterations = module, name, power_iterations
        w = getattr(self.module, self.name)
        height = w.data.shape[0]
        width = w.view(height, -1).data.shape[1]
        self.module.register_parameter(name + "_u", Parameter(w.data.new(height).normal_(0, 1), requires_grad=False))
        self.module.register_parameter(name + "_v", Parameter(w.data.new(width).normal_(0, 1), requires_grad=False))
        w_bar = Parameter(w.data)
        del self.module._parameters[name]
        self.module.register_parameter(name + "_bar", w_bar)

    def _update_u_v(self):
        u = getattr(self.module, self.name + "_u")
        v = getattr(self.module, self.name + "_v")
        w = getattr(self.module, self.name + "_bar")
        height = w.data.shape[0]
        for _ in range(self.power_iterations):
            v.data = l2normalize(torch.mv(torch.t(w.view(height, -1).data), u.data))
            u.data = l2normalize(torch.mv(w.view(height, -1).data, v.data))
        sigma = u.dot(w.view(height, -1).mv(v))
        setattr(self.module, self.name, w / sigma.expand_as(w))

    def forward(self, *args):
        self._update_u_v()
        return self.module.forward(*args)


D = nn.Sequential(SpectralNorm(nn.Linear(4, 8)), nn.LeakyReLU(0.1), SpectralNorm(nn.Linear(8, 1)))
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, D.parameters()), lr=2e-4)
for i in range(3):
    loss = nn.ReLU()(1.0 - D(torch.randn(6, 4))).mean() + nn.ReLU()(1.0 + D(torch.randn(6, 4))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
