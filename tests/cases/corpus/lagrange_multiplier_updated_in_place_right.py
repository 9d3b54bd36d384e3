import torch
from torch import nn

policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
cost_critic = nn.Linear(3, 1)
lam = torch.tensor(0.1, requires_grad=True)
optimizer = torch.optim.Adam([*policy.parameters(), *cost_critic.parameters()])
limit = 0.05

for it in range(3):
    s = torch.randn(6, 3)
    reward_loss = -policy(s).log_softmax(-1)[:, 0].mean()
    cost = cost_critic(s).sigmoid().mean()
    loss = reward_loss + lam * (cost - limit)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        lam += 0.01 * (cost.item() - limit)
    lam.grad = None
