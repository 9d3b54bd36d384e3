import torch
from torch import nn


class Planner(nn.Module):
    def __init__(self, d=3):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 8), nn.Tanh(), nn.Linear(8, d))

    def rollout(self, x, n):
        traj = torch.zeros(n + 1, x.numel())
        traj[0] = x
        for t in range(n):
            traj[t + 1] = traj[t] + 0.1 * self.f(traj[t])  # error: [inplace-on-saved]
        return traj


planner = Planner()
goal = torch.ones(3)
opt = torch.optim.Adam(planner.parameters(), lr=1e-2)
for _ in range(2):
    traj = planner.rollout(torch.zeros(3), 4)
    loss = (traj[-1] - goal).pow(2).sum()
    opt.zero_grad()
    loss.backward()  # raises: RuntimeError "modified by an inplace operation"
    opt.step()
