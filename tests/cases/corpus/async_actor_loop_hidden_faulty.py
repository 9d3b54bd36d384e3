import asyncio

import torch
from torch import nn


class Env:
    async def step(self, action):
        await asyncio.sleep(0)
        return torch.randn(1, 3), float(action)


class RecurrentActor(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRUCell(3, 6)
        self.pi = nn.Linear(6, 2)

    def forward(self, obs, h):
        h = self.gru(obs, h)
        return torch.distributions.Categorical(logits=self.pi(h)), h


async def rollout(env, actor, h, n):
    obs, log_probs, rewards = torch.zeros(1, 3), [], []
    for _ in range(n):
        dist, h = actor(obs, h)
        action = dist.sample()
        obs, r = await env.step(action.item())
        log_probs.append(dist.log_prob(action))
        rewards.append(r)
    return log_probs, rewards, h


async def main():
    env, actor = Env(), RecurrentActor()
    opt = torch.optim.Adam(actor.parameters())
    h = torch.zeros(1, 6)
    for _ in range(3):
        log_probs, rewards, h = await rollout(env, actor, h, 4)
        loss = -torch.cat(log_probs).sum() * sum(rewards)
        opt.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        opt.step()


asyncio.run(main())
