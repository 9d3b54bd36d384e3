import collections
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.normal import Normal


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = collections.deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, n):
        batch = random.sample(self.memory, n)
        return [torch.stack(items) for items in zip(*batch)]

    def __len__(self):
        return len(self.memory)


class CriticNetwork(nn.Module):
    def __init__(self, obs, act, beta=3e-4):
        super().__init__()
        self.fc1, self.q = nn.Linear(obs + act, 16), nn.Linear(16, 1)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=beta)

    def forward(self, state, action):
        return self.q(F.relu(self.fc1(torch.cat([state, action], dim=1))))


class ActorNetwork(nn.Module):
    def __init__(self, obs, act, alpha=3e-4):
        super().__init__()
        self.fc1, self.mu, self.sigma = nn.Linear(obs, 16), nn.Linear(16, act), nn.Linear(16, act)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=alpha)

    def forward(self, state):
        x = F.relu(self.fc1(state))
        return self.mu(x), torch.clamp(self.sigma(x), 1e-6, 1)

    def sample_normal(self, state):
        mu, sigma = self.forward(state)
        dist = Normal(mu, sigma)
        raw = dist.rsample()
        action = torch.tanh(raw)
        log_probs = dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_probs.sum(1, keepdim=True)


class Agent:
    def __init__(self, obs=3, act=2, gamma=0.99, scale=2):
        self.gamma, self.scale = gamma, scale
        self.memory = ReplayBuffer(100)
        self.actor = ActorNetwork(obs, act)
        self.critic_1, self.critic_2 = CriticNetwork(obs, act), CriticNetwork(obs, act)
        self.target_1, self.target_2 = CriticNetwork(obs, act), CriticNetwork(obs, act)

    def learn(self, batch_size=4):
        if len(self.memory) < batch_size:
            return None
        state, action, reward, state_ = self.memory.sample(batch_size)
        actions, log_probs = self.actor.sample_normal(state)
        critic_value = torch.min(self.critic_1(state, actions), self.critic_2(state, actions))
        actor_loss = torch.mean(log_probs - critic_value)
        self.actor.optimizer.zero_grad()
        actor_loss.backward()
        self.actor.optimizer.step()

        with torch.no_grad():
            next_a, next_lp = self.actor.sample_normal(state_)
            target = torch.min(self.target_1(state_, next_a), self.target_2(state_, next_a)) - next_lp
            q_hat = self.scale * reward + self.gamma * target
        self.critic_1.optimizer.zero_grad()
        self.critic_2.optimizer.zero_grad()
        c1 = 0.5 * F.mse_loss(self.critic_1(state, action), q_hat)
        c2 = 0.5 * F.mse_loss(self.critic_2(state, action), q_hat)
        critic_loss = c1 + c2
        critic_loss.backward()
        self.critic_1.optimizer.step()
        self.critic_2.optimizer.step()
        return critic_loss.item()


if __name__ == "__main__":
    agent = Agent()
    for step in range(8):
        agent.memory.push(torch.rand(3), torch.rand(2), torch.rand(1), torch.rand(3))
        agent.learn()
