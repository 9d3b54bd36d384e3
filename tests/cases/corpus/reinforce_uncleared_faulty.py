import argparse
from itertools import count

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description="PyTorch REINFORCE example")
parser.add_argument("--gamma", type=float, default=0.99, metavar="G")
parser.add_argument("--seed", type=int, default=543, metavar="N")
parser.add_argument("--episodes", type=int, default=4)
args = parser.parse_args()
torch.manual_seed(args.seed)


class CartEnv:
    """Keep the position near zero."""

    def reset(self):
        self.state = torch.tensor([0.2, 0.0])
        return self.state

    def step(self, action):
        force = 0.1 if action == 1 else -0.1
        velocity = self.state[1] + force
        self.state = torch.stack([self.state[0] + velocity, velocity])
        done = bool(self.state[0].abs() > 1.0)
        return self.state, 1.0, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 16)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=-1)


env = CartEnv()
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = 1e-6


def select_action(state):
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    returns = []
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_loss = torch.stack([-lp * ret for lp, ret in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    policy_loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    optimizer.step()


def main():
    for i_episode in range(args.episodes):
        state, ep_reward = env.reset(), 0
        for t in count(1):
            state, reward, done = env.step(select_action(state))
            policy.rewards.append(reward)
            ep_reward += reward
            if done or t >= 12:
                break
        finish_episode()
        print(f"Episode {i_episode}\tLast reward: {ep_reward:.2f}")


if __name__ == "__main__":
    main()
