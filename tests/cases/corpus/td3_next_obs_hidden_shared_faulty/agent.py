import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Summary(nn.Module):
    def __init__(self, obs, hidden):
        super().__init__()
        self.gru = nn.GRU(obs, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]


class Critic(nn.Module):
    def __init__(self, hidden, act):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(hidden + act, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(hidden + act, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, h, a):
        x = torch.cat([h, a], -1)
        return self.q1(x), self.q2(x)


class RecurrentTD3:
    def __init__(self, obs, act, hidden=8, gamma=0.99, polyak=0.995, policy_delay=2):
        self.summary = Summary(obs, hidden)
        self.actor = nn.Sequential(nn.Linear(hidden, act), nn.Tanh())
        self.critic = Critic(hidden, act)
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_c = torch.optim.Adam([*self.summary.parameters(), *self.critic.parameters()], lr=1e-3)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.gamma, self.polyak, self.policy_delay, self.updates = gamma, polyak, policy_delay, 0

    def update(self, batch):
        obs, act, rew = batch
        hs = self.summary(obs)
        h, h_next = hs[:, :-1], hs[:, 1:]
        with torch.no_grad():
            noise = (torch.randn_like(act) * 0.2).clamp(-0.5, 0.5)
            a_next = (self.actor_t(h_next) + noise).clamp(-1, 1)
            target = rew + self.gamma * torch.min(*self.critic_t(h_next, a_next))
        q1, q2 = self.critic(h, act)
        loss_q = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.opt_c.zero_grad()
        loss_q.backward()
        self.opt_c.step()
        stats = {"loss_q": loss_q.item()}
        self.updates += 1
        if self.updates % self.policy_delay == 0:
            h_pi = h
            loss_pi = -self.critic(h_pi, self.actor(h_pi))[0].mean()
            self.opt_a.zero_grad()
            loss_pi.backward()  # error: [double-backward]  # raises: RuntimeError "a second time"
            self.opt_a.step()
            stats["loss_pi"] = loss_pi.item()
            self._sync()
        return stats

    @torch.no_grad()
    def _sync(self):
        for net, target in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, t in zip(net.parameters(), target.parameters()):
                t.mul_(self.polyak).add_((1 - self.polyak) * p)
