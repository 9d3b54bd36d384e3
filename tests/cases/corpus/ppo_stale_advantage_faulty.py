"""Proximal policy optimisation on a contextual bandit with continuous actions."""

import torch
import torch.nn as nn
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=16):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, act_dim)
        self.log_std = nn.Parameter(torch.zeros(act_dim))
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.shared(obs)
        return Normal(self.mu(h), self.log_std.exp()), self.value(h).squeeze(-1)

    def evaluate(self, obs, action):
        dist, value = self(obs)
        return dist.log_prob(action).sum(-1), value, dist.entropy().sum(-1)


class RolloutBuffer:
    def __init__(self):
        self.clear()

    def clear(self):
        self.obs, self.actions, self.log_probs, self.rewards = [], [], [], []

    def stack(self):
        return map(torch.stack, (self.obs, self.actions, self.log_probs, self.rewards))


class PPO:
    def __init__(self, policy, lr=3e-3, eps_clip=0.2, k_epochs=3):
        self.policy = policy
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.buffer = RolloutBuffer()
        self.eps_clip, self.k_epochs = eps_clip, k_epochs

    def collect(self, n):
        for obs in torch.randn(n, 3):
            with torch.no_grad():
                dist, _ = self.policy(obs)
                action = dist.sample()
                log_prob = dist.log_prob(action).sum(-1)
            self.buffer.obs.append(obs)
            self.buffer.actions.append(action)
            self.buffer.log_probs.append(log_prob)
            self.buffer.rewards.append(-(action - obs[:2]).pow(2).sum())

    def update(self):
        obs, actions, old_log_probs, rewards = self.buffer.stack()
        rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-7)
        _, values, _ = self.policy.evaluate(obs, actions)
        advantages = rewards - values

        for _ in range(self.k_epochs):
            log_probs, state_values, entropy = self.policy.evaluate(obs, actions)
            ratios = torch.exp(log_probs - old_log_probs)
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * (state_values - rewards).pow(2) - 0.01 * entropy
            self.optimizer.zero_grad()
            loss.mean().backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            self.optimizer.step()
        self.buffer.clear()
        return rewards.mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = PPO(ActorCritic(3, 2))
    for iteration in range(3):
        agent.collect(16)
        agent.update()
        print("iteration", iteration, "std", agent.policy.log_std.exp().tolist())
