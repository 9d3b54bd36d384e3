import torch
from torch import nn
from torch.func import functional_call

model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
meta_opt = torch.optim.Adam(model.parameters(), lr=1e-3)
inner_lr, inner_steps = 0.1, 2

for it in range(2):
    meta_opt.zero_grad()
    query_losses = []
    for _ in range(3):
        xs, ys, xq, yq = (torch.randn(4, d) for d in (2, 1, 2, 1))
        fast = dict(model.named_parameters())
        for _ in range(inner_steps):
            inner = (functional_call(model, fast, (xs,)) - ys).pow(2).mean()
            grads = torch.autograd.grad(inner, tuple(fast.values()), create_graph=True)
            fast = {n: p - inner_lr * g for (n, p), g in zip(fast.items(), grads)}
        query_losses.append((functional_call(model, fast, (xq,)) - yq).pow(2).mean())
    torch.stack(query_losses).mean().backward()
    meta_opt.step()
