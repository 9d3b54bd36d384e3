import torch
from torch import nn


def running_norm(momentum=0.99):
    stats = [torch.zeros(()), torch.ones(())]

    def normalise(r):
        stats[0] = momentum * stats[0] + (1 - momentum) * r.mean()
        stats[1] = momentum * stats[1] + (1 - momentum) * r.var()
        return (r - stats[0]) / (stats[1].sqrt() + 1e-6)

    return normalise


reward_model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(reward_model.parameters())
normalise = running_norm()
for step in range(3):
    chosen, rejected = torch.randn(4, 3), torch.randn(4, 3)
    margin = normalise(reward_model(chosen)) - reward_model(rejected)
    loss = -nn.functional.logsigmoid(margin).mean()
    opt.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    opt.step()
