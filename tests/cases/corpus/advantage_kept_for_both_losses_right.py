import torch
import torch.nn as nn
from torch.distributions import Normal


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(obs, 16), nn.Tanh(), nn.Linear(16, act))
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, obs):
        return Normal(self.mean(obs), self.log_std.exp())


def rollout(actor, n=8):
    states, actions, rewards = [], [], []
    state = torch.zeros(3)
    for _ in range(n):
        with torch.no_grad():
            action = actor(state).sample()
        states.append(state)
        actions.append(action)
        rewards.append(float(-(state**2).sum() - 0.1 * (action**2).sum()))
        state = 0.9 * state + 0.1 * torch.randn(3) + 0.05 * action.sum()
    return torch.stack(states), torch.stack(actions), rewards


def discounted(rewards, gamma=0.98):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.insert(0, running)
    return torch.tensor(out)


actor, critic = Actor(3, 2), nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for episode in range(2):
    states, actions, rewards = rollout(actor)
    returns = discounted(rewards)
    advantage = returns - critic(states).squeeze(-1)
    critic_loss = advantage.pow(2).mean()
    actor_loss = -(actor(states).log_prob(actions).sum(-1) * advantage.detach()).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    actor_opt.zero_grad()
    actor_loss.backward()
    critic_opt.step()
    actor_opt.step()
    print(episode, critic_loss.item(), actor_loss.item())
