import copy

import torch
import torch.nn.functional as F
from torch import nn


class Learner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.vars = nn.ParameterList()
        for name, (o, i) in config:
            w = nn.Parameter(torch.ones(o, i))
            nn.init.kaiming_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(o)))

    def forward(self, x, vars=None):
        if vars is None:
            vars = self.vars
        for idx in range(0, len(vars), 2):
            x = F.linear(x, vars[idx], vars[idx + 1])
            if idx + 2 < len(vars):
                x = F.relu(x)
        return x

    def parameters(self):
        return self.vars


class Meta(nn.Module):
    def __init__(self, config, update_lr=0.1, meta_lr=1e-3, update_step=2):
        super().__init__()
        self.update_lr, self.update_step = update_lr, update_step
        self.net = Learner(config)
        self.meta_optim = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        losses_q = 0
        for i in range(x_spt.size(0)):
            fast_weights = list(self.net.parameters())
            for k in range(self.update_step):
                loss = F.mse_loss(self.net(x_spt[i], fast_weights), y_spt[i])
                grad = torch.autograd.grad(loss, fast_weights, create_graph=True)
                fast_weights = [w - self.update_lr * g for g, w in zip(grad, fast_weights)]
            losses_q = losses_q + F.mse_loss(self.net(x_qry[i], fast_weights), y_qry[i])
        loss_q = losses_q / x_spt.size(0)
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return loss_q.item()


def sample_tasks(n):
    phase = torch.rand(n, 1, 1)
    x = torch.rand(n, 10, 1)
    y = torch.sin(6 * x + phase)
    return x[:, :5], y[:, :5], x[:, 5:], y[:, 5:]


config = [("linear", [8, 1]), ("linear", [1, 8])]
maml = Meta(config)
for step in range(3):
    print(step, maml(*sample_tasks(2)))
