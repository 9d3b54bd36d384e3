import torch
from torch import nn


class GradReverse(nn.Module):
    def __init__(self, lam=1.0):
        super().__init__()
        self.lam = lam

    def forward(self, x):
        y = x.view_as(x)
        if y.requires_grad:
            y.register_hook(lambda g: -self.lam * g)
        return y


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(5, 10), nn.BatchNorm1d(10), nn.ReLU(True))
        self.label = nn.Sequential(nn.Linear(10, 10), nn.ReLU(True), nn.Linear(10, 2))
        self.grl = GradReverse()
        self.domain = nn.Sequential(nn.Linear(10, 4), nn.ReLU(True), nn.Linear(4, 2))

    def forward(self, x):
        f = self.feature(x)
        return self.label(f), self.domain(self.grl(f))


model = DANN()
optimizer = torch.optim.Adam(model.parameters())
nll = nn.CrossEntropyLoss()
for i in range(2):
    s, t, y = torch.randn(4, 5), torch.randn(4, 5), torch.randint(0, 2, (4,))
    optimizer.zero_grad()
    class_out, dom_s = model(s)
    err_s_label = nll(class_out, y)
    err_s_dom = nll(dom_s, torch.zeros(4).long())
    _, dom_t = model(t)
    err_t_dom = nll(dom_t, torch.ones(4).long())
    err = err_s_label + err_s_dom + err_t_dom
    err.backward()
    err_t_dom.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
