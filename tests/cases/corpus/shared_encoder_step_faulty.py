"""Pixel-based actor-critic: who owns the encoder decides whether the order of the steps matters."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PixelEncoder(nn.Module):
    def __init__(self, feature_dim=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, stride=2)
        self.conv2 = nn.Conv2d(4, 4, 3)
        self.fc = nn.Linear(4, feature_dim)

    def forward(self, obs):
        h = F.relu(self.conv1(obs))
        h = F.relu(self.conv2(h))
        return torch.tanh(self.fc(h.flatten(1)))


class Actor(nn.Module):
    def __init__(self, encoder, feature_dim=8, actions=3):
        super().__init__()
        self.encoder = encoder
        self.trunk = nn.Sequential(nn.Linear(feature_dim, 16), nn.ReLU(), nn.Linear(16, actions))

    def forward(self, obs):
        return F.log_softmax(self.trunk(self.encoder(obs)), dim=-1)


class Critic(nn.Module):
    def __init__(self, encoder, feature_dim=8):
        super().__init__()
        self.encoder = encoder
        self.trunk = nn.Sequential(nn.Linear(feature_dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, obs):
        return self.trunk(self.encoder(obs)).squeeze(-1)


class Agent:
    def __init__(self):
        encoder = PixelEncoder()
        self.actor = Actor(encoder)
        self.critic = Critic(encoder)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def update(self, obs, action, returns):
        log_prob = self.actor(obs).gather(1, action).squeeze(1)
        value = self.critic(obs)
        advantage = (returns - value).detach()
        critic_loss = F.mse_loss(value, returns)
        actor_loss = -(log_prob * advantage).mean()

        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()  # error: [parameter-updated-before-backward]

        self.actor_opt.zero_grad()
        actor_loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        self.actor_opt.step()
        return critic_loss.item(), actor_loss.item()


def main():
    torch.manual_seed(0)
    agent = Agent()
    for update in range(3):
        obs = torch.rand(10, 1, 7, 7)
        action = torch.randint(0, 3, (10, 1))
        returns = obs.mean(dim=(1, 2, 3)) + 0.1 * torch.randn(10)
        print(update, agent.update(obs, action, returns))


if __name__ == "__main__":
    main()
