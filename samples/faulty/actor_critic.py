"""Deep deterministic policy gradient on a toy point-mass task."""

import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

STATE_DIM, ACTION_DIM = 4, 2
GAMMA, TAU = 0.99, 0.01


class Actor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(STATE_DIM, hidden)
        self.fc2 = nn.Linear(hidden, ACTION_DIM)

    def forward(self, state):
        return torch.tanh(self.fc2(F.relu(self.fc1(state))))


class Critic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(STATE_DIM + ACTION_DIM, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, state, action):
        return self.fc2(F.relu(self.fc1(torch.cat([state, action], dim=1))))


class ReplayBuffer:
    def __init__(self, capacity=1000):
        self.memory = deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, batch_size):
        state, action, reward, next_state = zip(*random.sample(self.memory, batch_size))
        return torch.stack(state), torch.stack(action), torch.tensor(reward).unsqueeze(1), torch.stack(next_state)

    def __len__(self):
        return len(self.memory)


class Agent:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    @torch.no_grad()
    def act(self, state, noise=0.1):
        action = self.actor(state.unsqueeze(0)).squeeze(0)
        return (action + noise * torch.randn_like(action)).clamp(-1, 1)

    def update(self, batch):
        state, action, reward, next_state = batch
        with torch.no_grad():
            target = reward + GAMMA * self.target_critic(next_state, self.target_actor(next_state))
        critic_loss = F.mse_loss(self.critic(state, action), target)
        actor_loss = -self.critic(state, self.actor(state)).mean()

        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        self.soft_update(self.actor, self.target_actor)
        self.soft_update(self.critic, self.target_critic)
        return critic_loss.item(), actor_loss.item()

    def soft_update(self, online, target):
        with torch.no_grad():
            for source, destination in zip(online.parameters(), target.parameters()):
                destination.mul_(1 - TAU).add_(TAU * source)


def main(episodes=3, horizon=20, batch_size=16):
    random.seed(0)
    torch.manual_seed(0)
    agent, buffer = Agent(), ReplayBuffer()
    for episode in range(episodes):
        state, episode_return = torch.randn(STATE_DIM), 0.0
        for _ in range(horizon):
            action = agent.act(state)
            next_state = state + 0.1 * torch.cat([action, -action])
            reward = -next_state.pow(2).sum().item()
            buffer.push(state, action, reward, next_state)
            state, episode_return = next_state, episode_return + reward
            if len(buffer) >= batch_size:
                losses = agent.update(buffer.sample(batch_size))
        print(f"episode {episode}: return {episode_return:.2f}, losses {losses}")


if __name__ == "__main__":
    main()
