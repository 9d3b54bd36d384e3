import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class QNetwork(nn.Module):
    def __init__(self, s, a, h=16):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(s + a, h), nn.ReLU(), nn.Linear(h, 1))
        self.q2 = nn.Sequential(nn.Linear(s + a, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, s, a):
        x = torch.cat([s, a], 1)
        return self.q1(x), self.q2(x)


class GaussianPolicy(nn.Module):
    def __init__(self, s, a, h=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(s, h), nn.ReLU())
        self.mean = nn.Linear(h, a)
        self.log_std = nn.Linear(h, a)

    def sample(self, s):
        h = self.body(s)
        normal = Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        x = normal.rsample()
        a = torch.tanh(x)
        logp = (normal.log_prob(x) - torch.log(1 - a.pow(2) + 1e-6)).sum(1, keepdim=True)
        return a, logp


class SAC:
    def __init__(self, s, a, gamma=0.99, tau=0.01, lr=3e-4):
        self.gamma, self.tau = gamma, tau
        self.critic = QNetwork(s, a)
        self.critic_target = copy.deepcopy(self.critic)
        self.policy = GaussianPolicy(s, a)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=lr)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.target_entropy = -float(a)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=lr)
        self.alpha = self.log_alpha.exp()

    def update_parameters(self, batch):
        s, a, r, s2, d = batch
        with torch.no_grad():
            a2, logp2 = self.policy.sample(s2)
            t1, t2 = self.critic_target(s2, a2)
            y = r + (1 - d) * self.gamma * (torch.min(t1, t2) - self.alpha * logp2)
        q1, q2 = self.critic(s, a)
        q_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.critic_optim.zero_grad()
        q_loss.backward()
        self.critic_optim.step()

        pi, logp = self.policy.sample(s)
        policy_loss = (self.alpha * logp - torch.min(*self.critic(s, pi))).mean()
        self.policy_optim.zero_grad()
        policy_loss.backward()  # error: [carried-graph] # raises: RuntimeError
        self.policy_optim.step()

        alpha_loss = -(self.log_alpha * (logp + self.target_entropy).detach()).mean()
        self.alpha_optim.zero_grad()
        alpha_loss.backward()
        self.alpha_optim.step()

        for p, tp in zip(self.critic.parameters(), self.critic_target.parameters()):
            tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)
        return q_loss.item(), policy_loss.item(), alpha_loss.item()


def fake_batch(n):
    return torch.randn(n, 3), torch.rand(n, 1) * 2 - 1, torch.randn(n, 1), torch.randn(n, 3), torch.zeros(n, 1)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    agent = SAC(3, 1)
    for update in range(5):
        print(agent.update_parameters(fake_batch(8)))
