import torch
from torch import nn


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(5, 8), nn.ELU())
        self.dyn = nn.GRUCell(2, 8)
        self.rew = nn.Linear(8, 1)


class Agent:
    def __init__(self):
        self.wm, self.actor, self.critic = WorldModel(), nn.Linear(8, 2), nn.Linear(8, 1)
        self.wm_opt = torch.optim.Adam(self.wm.parameters())
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def train_model(self, obs, act, rew):
        z = self.wm.enc(obs)
        z = self.wm.dyn(act, z)
        loss = (self.wm.rew(z).squeeze(-1) - rew).pow(2).mean()
        self.wm_opt.zero_grad()
        loss.backward()
        self.wm_opt.step()
        return z.detach()

    def imagine(self, z, horizon=3):
        rewards, feats = [], []
        for _ in range(horizon):
            a = torch.tanh(self.actor(z))
            z = self.wm.dyn(a, z)
            feats.append(z)
            rewards.append(self.wm.rew(z))
        return torch.stack(feats), torch.stack(rewards)

    def train_behaviour(self, z):
        feats, rewards = self.imagine(z)
        actor_loss = -rewards.mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        value_loss = (self.critic(feats.detach()) - rewards.detach()).pow(2).mean()
        self.critic_opt.zero_grad()
        value_loss.backward()
        self.critic_opt.step()


agent = Agent()
for _ in range(2):
    z = agent.train_model(torch.randn(4, 5), torch.rand(4, 2), torch.rand(4))
    agent.train_behaviour(z)
