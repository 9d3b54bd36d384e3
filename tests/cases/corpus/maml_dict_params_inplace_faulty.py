import torch
from torch import nn
import torch.nn.functional as F


def net_forward(params, x):
    h = F.relu(F.linear(x, params["w1"], params["b1"]))
    return F.linear(h, params["w2"], params["b2"])


params = {
    "w1": torch.randn(8, 1) * 0.1,
    "b1": torch.zeros(8),
    "w2": torch.randn(1, 8) * 0.1,
    "b2": torch.zeros(1),
}
for p in params.values():
    p.requires_grad_()
meta_opt = torch.optim.Adam(params.values(), lr=1e-3)

sample_task = lambda: (torch.rand(5, 1), torch.rand(5, 1), torch.rand(5, 1), torch.rand(5, 1))
for it in range(2):
    meta_loss = 0.0
    for task in range(2):
        xs, ys, xq, yq = sample_task()
        fast = dict(params)
        for _ in range(2):
            loss = F.mse_loss(net_forward(fast, xs), ys)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            for (k, v), g in zip(fast.items(), grads):
                v -= 0.01 * g  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        meta_loss = meta_loss + F.mse_loss(net_forward(fast, xq), yq)
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
