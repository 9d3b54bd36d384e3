import torch
import torch.nn as nn
import numpy as np


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.depth = len(layers) - 1
        self.linears = nn.ModuleList([nn.Linear(layers[i], layers[i + 1]) for i in range(self.depth)])
        self.activation = nn.Tanh()
        self.loss_function = nn.MSELoss(reduction="mean")
        for i in range(self.depth):
            nn.init.xavier_normal_(self.linears[i].weight.data, gain=1.0)
            nn.init.zeros_(self.linears[i].bias.data)

    def forward(self, x):
        a = x
        for i in range(self.depth - 1):
            a = self.activation(self.linears[i](a))
        return self.linears[-1](a)

    def loss_PDE(self, x_f, nu=0.01 / np.pi):
        g = x_f.clone()
        g.requires_grad = True
        u = self.forward(g)
        u_xt = torch.autograd.grad(u, g, torch.ones([g.shape[0], 1]), retain_graph=True)[0]
        u_xx = torch.autograd.grad(u_xt, g, torch.ones(g.shape), create_graph=True)[0][:, [0]]  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        u_x, u_t = u_xt[:, [0]], u_xt[:, [1]]
        f = u_t + u * u_x - nu * u_xx
        return self.loss_function(f, torch.zeros_like(f))

    def loss(self, xb, yb, xf):
        return self.loss_function(self.forward(xb), yb) + self.loss_PDE(xf)


model = PINN([2, 8, 8, 1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
xb, yb, xf = torch.rand(4, 2), torch.rand(4, 1), torch.rand(10, 2)
for i in range(3):
    loss = model.loss(xb, yb, xf)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
