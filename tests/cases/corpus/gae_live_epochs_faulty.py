from dataclasses import dataclass, field
from typing import List

import torch
import torch.nn as nn
from torch.distributions import Normal


@dataclass
class Config:
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    epochs: int = 3
    horizon: int = 12
    lr: float = 3e-4


@dataclass
class Rollout:
    obs: List[torch.Tensor] = field(default_factory=list)
    act: List[torch.Tensor] = field(default_factory=list)
    logp: List[torch.Tensor] = field(default_factory=list)
    val: List[torch.Tensor] = field(default_factory=list)
    rew: List[float] = field(default_factory=list)


class GaussianActor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def dist(self, obs):
        return Normal(self.mu(obs), self.log_std.exp())


class PPO:
    def __init__(self, obs_dim, act_dim, cfg):
        self.cfg = cfg
        self.actor = GaussianActor(obs_dim, act_dim)
        self.critic = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, 1))
        self.opt = torch.optim.Adam([*self.actor.parameters(), *self.critic.parameters()], lr=cfg.lr)

    def collect(self):
        roll = Rollout()
        obs = torch.randn(3)
        for _ in range(self.cfg.horizon):
            with torch.no_grad():
                d = self.actor.dist(obs)
                a = d.sample()
                logp = d.log_prob(a).sum(-1)
            v = self.critic(obs).squeeze(-1)
            roll.obs.append(obs)
            roll.act.append(a)
            roll.logp.append(logp)
            roll.val.append(v)
            roll.rew.append(-float((obs.sum() - a.sum()) ** 2))
            obs = torch.randn(3)
        return roll

    def advantages(self, roll):
        adv, last = [], 0.0
        vals = roll.val + [torch.zeros(())]
        for t in reversed(range(len(roll.rew))):
            delta = roll.rew[t] + self.cfg.gamma * vals[t + 1] - vals[t]
            last = delta + self.cfg.gamma * self.cfg.lam * last
            adv.insert(0, last)
        adv = torch.stack(adv)
        ret = adv + torch.stack(roll.val)
        return (adv - adv.mean()) / (adv.std() + 1e-8), ret

    def update(self, roll):
        obs, act, old = torch.stack(roll.obs), torch.stack(roll.act), torch.stack(roll.logp)
        adv, ret = self.advantages(roll)  # hint: [undetached-target]
        for _ in range(self.cfg.epochs):
            logp = self.actor.dist(obs).log_prob(act).sum(-1)
            ratio = (logp - old).exp()
            surr = torch.min(ratio * adv, ratio.clamp(1 - self.cfg.clip, 1 + self.cfg.clip) * adv)
            value = self.critic(obs).squeeze(-1)
            loss = -surr.mean() + 0.5 * (ret - value).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError
            self.opt.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = PPO(3, 2, Config())
    for it in range(2):
        agent.update(agent.collect())
