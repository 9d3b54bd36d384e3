import random
import torch
from torch import nn


class GridWorld:
    def __init__(self, n=4):
        self.n = n

    def reset(self):
        self.p, self.t = 0, 0
        return self.obs()

    def obs(self):
        v = torch.zeros(self.n)
        v[self.p] = 1.0
        return v

    def step(self, a):
        self.p = max(0, min(self.n - 1, self.p + (1 if a == 1 else -1)))
        self.t += 1
        done = self.p == self.n - 1 or self.t >= 8
        return self.obs(), float(self.p == self.n - 1), done


def returns_of(rewards, gamma):
    g, out = 0.0, []
    for r in reversed(rewards):
        g = r + gamma * g
        out.append(g)
    return torch.tensor(list(reversed(out)))


def play(env, policy):
    s, done = env.reset(), False
    states, actions, rewards = [], [], []
    while not done:
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=policy(s)).sample()
        states.append(s)
        actions.append(a)
        s, r, done = env.step(a.item())
        rewards.append(r)
    return torch.stack(states), torch.stack(actions), rewards


def reinforce(episodes=3, gamma=0.9):
    env = GridWorld()
    policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    baseline = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt_p = torch.optim.Adam(policy.parameters(), lr=1e-2)
    opt_b = torch.optim.Adam(baseline.parameters(), lr=1e-2)
    for ep in range(episodes):
        states, actions, rewards = play(env, policy)
        G = returns_of(rewards, gamma)
        b = baseline(states).squeeze(-1)
        advantage = G - b
        loss_b = advantage.pow(2).mean()
        opt_b.zero_grad()
        loss_b.backward(retain_graph=True)
        opt_b.step()  # error: [parameter-updated-before-backward]
        logp = torch.log_softmax(policy(states), -1).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss_p = -(logp * advantage).sum()
        opt_p.zero_grad()
        loss_p.backward()  # raises: RuntimeError
        opt_p.step()
        print(ep, sum(rewards))


random.seed(0)
torch.manual_seed(0)
reinforce()
