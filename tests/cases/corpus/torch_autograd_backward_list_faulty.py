import torch
from torch import nn

enc = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
heads = [nn.Linear(8, 2) for _ in range(2)]
params = [p for m in (enc, *heads) for p in m.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
for _ in range(2):
    x, ys = torch.randn(4, 6), [torch.randint(0, 2, (4,)) for _ in heads]
    z = enc(x)
    losses = [nn.functional.cross_entropy(h(z), y) for h, y in zip(heads, ys)]
    opt.zero_grad()
    torch.autograd.backward(losses)
    consistency = (heads[0](z).softmax(1) - heads[1](z).softmax(1)).abs().mean()
    consistency.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
    opt.step()
    print(consistency.item())
