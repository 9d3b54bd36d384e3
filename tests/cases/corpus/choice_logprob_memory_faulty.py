"""Policy gradient on a toy bandit with a memory of log probabilities that is sampled by NumPy."""
import argparse
import random
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--capacity", type=int, default=64)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--updates", type=int, default=6)
parser.add_argument("--lr", type=float, default=1e-2)

Step = namedtuple("Step", ["state", "action", "logp", "reward"])


class Bandit:
    def __init__(self, arms=4, dim=6, seed=0):
        self.rng = np.random.RandomState(seed)
        self.arms = arms
        self.dim = dim

    def reset(self):
        return self.rng.randn(self.dim).astype(np.float32)

    def step(self, action):
        reward = float(action == self.rng.randint(self.arms))
        return self.reset(), reward, False, {}


class PolicyNet(nn.Module):
    def __init__(self, dim, arms):
        super().__init__()
        self.fc1 = nn.Linear(dim, 16)
        self.fc2 = nn.Linear(16, arms)

    def forward(self, x):
        return torch.softmax(self.fc2(torch.tanh(self.fc1(x))), dim=-1)


class Memory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.steps = []

    def push(self, *args):
        if len(self.steps) >= self.capacity:
            self.steps.pop(0)
        self.steps.append(Step(*args))

    def sample(self, n):
        idx = np.random.choice(len(self.steps), n, replace=False)
        return [self.steps[i] for i in idx]

    def __len__(self):
        return len(self.steps)


class Agent:
    def __init__(self, env, args):
        self.policy = PolicyNet(env.dim, env.arms)
        self.optimizer = optim.Adam(self.policy.parameters(), lr=args.lr)
        self.memory = Memory(args.capacity)
        self.args = args

    def act(self, state):
        probs = self.policy(torch.from_numpy(state))
        dist = Categorical(probs)
        action = dist.sample()
        return action.item(), dist.log_prob(action)

    def learn(self):
        if len(self.memory) < self.args.batch_size:
            return
        batch = self.memory.sample(self.args.batch_size)
        logps = torch.stack([s.logp for s in batch])
        rewards = torch.tensor([s.reward for s in batch])
        loss = -(logps * (rewards - rewards.mean())).mean()
        self.optimizer.zero_grad()
        loss.backward()  # warning: [carried-graph] # raises: RuntimeError
        self.optimizer.step()


def main():
    args = parser.parse_args([])
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    env = Bandit()
    agent = Agent(env, args)
    state = env.reset()
    for update in range(args.updates):
        for _ in range(10):
            action, logp = agent.act(state)
            nxt, reward, done, info = env.step(action)
            agent.memory.push(state, action, logp, reward)
            state = nxt
        agent.learn()


main()
