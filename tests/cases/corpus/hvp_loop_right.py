import torch
from torch import nn


def lanczos_top(loss, params, iterations=4):
    grads = torch.autograd.grad(loss, params, create_graph=True)
    v = [torch.randn_like(p) for p in params]
    value = 0.0
    for i in range(iterations):
        norm = torch.sqrt(sum((x * x).sum() for x in v))
        v = [x / norm for x in v]
        hv = torch.autograd.grad(grads, params, grad_outputs=v, retain_graph=i < iterations - 1)
        value = sum((a * b).sum() for a, b in zip(hv, v)).item()
        v = [h.detach() for h in hv]
    return value


model = nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.rand(3, 8, 4):
    loss = model(x).pow(2).mean()
    print(lanczos_top(loss, list(model.parameters())))
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
