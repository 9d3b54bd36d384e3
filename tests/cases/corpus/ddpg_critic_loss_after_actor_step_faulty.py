import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self, s, a, max_action):
        super(Actor, self).__init__()
        self.l1, self.l2 = nn.Linear(s, 16), nn.Linear(16, a)
        self.max_action = max_action

    def forward(self, x):
        return self.max_action * torch.tanh(self.l2(F.relu(self.l1(x))))


class Critic(nn.Module):
    def __init__(self, s, a):
        super(Critic, self).__init__()
        self.l1, self.l2 = nn.Linear(s + a, 16), nn.Linear(16, 1)

    def forward(self, x, u):
        return self.l2(F.relu(self.l1(torch.cat([x, u], 1))))


class DDPG(object):
    def __init__(self, s, a, max_action=1.0):
        self.actor = Actor(s, a, max_action)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-4)
        self.critic = Critic(s, a)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), weight_decay=1e-2)

    def train(self, replay_buffer, iterations, batch_size=4, discount=0.99, tau=0.005):
        for it in range(iterations):
            x, y, u, r, d = replay_buffer(batch_size)
            target_Q = self.critic_target(y, self.actor_target(y))
            target_Q = r + ((1 - d) * discount * target_Q).detach()
            current_Q = self.critic(x, u)
            critic_loss = F.mse_loss(current_Q, target_Q)
            actor_loss = -self.critic(x, self.actor(x)).mean()
            self.critic_optimizer.zero_grad()
            critic_loss.backward()
            self.critic_optimizer.step()  # error: [parameter-updated-before-backward]
            self.actor_optimizer.zero_grad()
            actor_loss.backward()  # raises: RuntimeError "modified by an inplace operation"
            self.actor_optimizer.step()
            for param, target_param in zip(self.critic.parameters(), self.critic_target.parameters()):
                target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
            for param, target_param in zip(self.actor.parameters(), self.actor_target.parameters()):
                target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)


def buffer(n, s=3, a=2):
    return torch.randn(n, s), torch.randn(n, s), torch.rand(n, a), torch.rand(n, 1), torch.zeros(n, 1)


DDPG(3, 2).train(buffer, 2)
