import torch
from torch import nn
import torch.nn.functional as F


class Learner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.vars = nn.ParameterList()
        for name, param in config:
            if name == "linear":
                w = nn.Parameter(torch.ones(*param))
                nn.init.kaiming_normal_(w)
                self.vars.append(w)
                self.vars.append(nn.Parameter(torch.zeros(param[0])))

    def forward(self, x, vars=None):
        vars = self.vars if vars is None else vars
        idx = 0
        for name, param in self.config:
            if name == "linear":
                w, b = vars[idx], vars[idx + 1]
                x = F.linear(x, w, b)
                idx += 2
            elif name == "relu":
                x = F.relu(x, inplace=param[0])
        return x


class Meta(nn.Module):
    def __init__(self, config, update_lr=0.1, meta_lr=1e-3, steps=2):
        super().__init__()
        self.net = Learner(config)
        self.update_lr, self.steps = update_lr, steps
        self.meta_optim = torch.optim.Adam(self.net.parameters(), lr=meta_lr)

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        losses_q = 0
        for i in range(x_spt.size(0)):
            fast = list(self.net.parameters())
            for k in range(self.steps):
                loss = F.cross_entropy(self.net(x_spt[i], fast), y_spt[i])
                grad = torch.autograd.grad(loss, fast)  # raises: RuntimeError "does not require grad"
                fast = [p.detach() - self.update_lr * g for g, p in zip(grad, fast)]  # error: [rebound-parameter]
            losses_q = losses_q + F.cross_entropy(self.net(x_qry[i], fast), y_qry[i])
        self.meta_optim.zero_grad()
        losses_q.backward()
        self.meta_optim.step()


meta = Meta([("linear", [8, 4]), ("relu", [True]), ("linear", [3, 8])])
for _ in range(2):
    meta(torch.randn(2, 5, 4), torch.randint(0, 3, (2, 5)), torch.randn(2, 5, 4), torch.randint(0, 3, (2, 5)))
