import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.l1, self.l2 = nn.Linear(s, 16), nn.Linear(16, a)

    def forward(self, state):
        return torch.tanh(self.l2(F.relu(self.l1(state))))


class Critic(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(s + a, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(s + a, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.q1(sa), self.q2(sa)


class TD3:
    def __init__(self, s=3, a=2, policy_freq=2):
        self.actor, self.critic = Actor(s, a), Critic(s, a)
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.policy_freq, self.total_it = policy_freq, 0

    def train(self, state, action, next_state, reward, not_done):
        self.total_it += 1
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            next_action = (self.actor_target(next_state) + noise).clamp(-1, 1)
            target_Q = reward + not_done * 0.99 * torch.min(*self.critic_target(next_state, next_action))
        q1, q2 = self.critic(state, action)
        actor_loss = -self.critic(state, self.actor(state))[0].mean()
        critic_loss = F.mse_loss(q1, target_Q) + F.mse_loss(q2, target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()  # error: [parameter-updated-before-backward]
        if self.total_it % self.policy_freq == 0:
            self.actor_optimizer.zero_grad()
            actor_loss.backward()  # raises: RuntimeError "modified by an inplace"
            self.actor_optimizer.step()
            for param, target in zip(self.actor.parameters(), self.actor_target.parameters()):
                target.data.copy_(0.005 * param.data + 0.995 * target.data)


policy = TD3()
for t in range(6):
    policy.train(torch.rand(4, 3), torch.rand(4, 2), torch.rand(4, 3), torch.rand(4, 1), torch.ones(4, 1))
