import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class OUNoise:
    def __init__(self, size, theta=0.15, sigma=0.2):
        self.mu, self.theta, self.sigma = np.zeros(size), theta, sigma
        self.reset()

    def reset(self):
        self.state = copy.copy(self.mu)

    def sample(self):
        self.state = self.state + self.theta * (self.mu - self.state) + self.sigma * np.random.randn(len(self.state))
        return self.state


class Actor(nn.Module):
    def __init__(self, state_size, action_size):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(state_size, 16), nn.Linear(16, action_size)

    def forward(self, state):
        return torch.tanh(self.fc2(F.relu(self.fc1(state))))


class Critic(nn.Module):
    def __init__(self, state_size, action_size):
        super().__init__()
        self.fcs1, self.fc2 = nn.Linear(state_size, 16), nn.Linear(16 + action_size, 1)

    def forward(self, state, action):
        return self.fc2(torch.cat((F.relu(self.fcs1(state)), action), dim=1))


class Agent:
    def __init__(self, state_size=4, action_size=2):
        self.actor_local, self.actor_target = Actor(state_size, action_size), Actor(state_size, action_size)
        self.critic_local, self.critic_target = Critic(state_size, action_size), Critic(state_size, action_size)
        self.actor_optimizer = torch.optim.Adam(self.actor_local.parameters(), lr=1e-4)
        self.critic_optimizer = torch.optim.Adam(self.critic_local.parameters(), lr=1e-3)
        self.noise = OUNoise(action_size)

    def act(self, state, add_noise=True):
        action = self.actor_local(state).cpu().data.numpy()  # warning: [unreached-parameter]
        if add_noise:
            action += self.noise.sample()
        return np.clip(action, -1, 1)

    def learn(self, experiences, gamma=0.99):
        states, actions, rewards, next_states, dones = experiences
        actions_next = self.actor_target(next_states)
        q_next = self.critic_target(next_states, actions_next).detach()
        q_targets = rewards + gamma * q_next * (1 - dones)
        critic_loss = F.mse_loss(self.critic_local(states, actions), q_targets)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actions_pred = torch.from_numpy(self.act(states, add_noise=False)).float()
        actor_loss = -self.critic_local(states, actions_pred).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.soft_update(self.critic_local, self.critic_target, 1e-3)
        self.soft_update(self.actor_local, self.actor_target, 1e-3)

    def soft_update(self, local_model, target_model, tau):
        for target_param, local_param in zip(target_model.parameters(), local_model.parameters()):
            target_param.data.copy_(tau * local_param.data + (1.0 - tau) * target_param.data)


agent = Agent()
for episode in range(3):
    batch = torch.rand(6, 4), torch.rand(6, 2), torch.rand(6, 1), torch.rand(6, 4), torch.zeros(6, 1)
    agent.act(batch[0][0].unsqueeze(0))
    agent.learn(batch)
# torch: agent.actor_local.fc1.weight.grad is None
