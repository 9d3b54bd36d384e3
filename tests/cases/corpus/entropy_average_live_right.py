"""An agent that averages its entropy."""

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Reinforce:
    def __init__(self, policy, lr=1e-2):
        self.policy = policy
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)
        self.entropy_avg = 0.0

    def update(self, states, rewards):
        dist = Categorical(logits=self.policy(states))
        actions = dist.sample()
        entropy = dist.entropy().mean()
        loss = -(dist.log_prob(actions) * rewards).mean() - 0.01 * entropy
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.entropy_avg = 0.9 * self.entropy_avg + 0.1 * entropy.item()


policy = nn.Linear(4, 3)
agent = Reinforce(policy)
for episode in range(4):
    agent.update(torch.randn(6, 4), torch.randn(6))
print(float(agent.entropy_avg))

# torch: isinstance(agent.entropy_avg, float)
