import copy
import torch
from torch import nn


class Agent:
    def __init__(self, idx, n, obs, act, lr=1e-3):
        self.idx = idx
        self.actor = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(n * (obs + act), 16), nn.ReLU(), nn.Linear(16, 1))
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr)
