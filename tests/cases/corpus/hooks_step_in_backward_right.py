import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
optimizers = {id(p): torch.optim.SGD([p], lr=0.01) for p in model.parameters()}


def fused(param):
    torch.nn.utils.clip_grad_norm_([param], 1.0)
    optimizers[id(param)].step()
    optimizers[id(param)].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(fused)
for x in torch.rand(5, 3, 4):
    loss = model(x).pow(2).mean()
    loss.backward()
    print(loss.item())
