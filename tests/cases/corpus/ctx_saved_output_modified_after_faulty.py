import torch
from torch import nn


class ExpFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors  # raises: RuntimeError "modified by an inplace operation"
        return g * y


class PoissonHead(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 1)

    def forward(self, x):
        rate = ExpFn.apply(self.fc(x))
        rate.clamp_(max=10.0)  # error: [inplace-on-saved]
        return rate


head = PoissonHead(3)
opt = torch.optim.SGD(head.parameters(), lr=0.01)
for _ in range(2):
    x, counts = torch.randn(5, 3), torch.randint(0, 4, (5, 1)).float()
    loss = nn.functional.poisson_nll_loss(head(x), counts, log_input=False)
    opt.zero_grad()
    loss.backward()
    opt.step()
