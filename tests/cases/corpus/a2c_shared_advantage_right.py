import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, state_size, action_size):
        super().__init__()
        self.linear1 = nn.Linear(state_size, 16)
        self.linear2 = nn.Linear(16, action_size)

    def forward(self, state):
        return Categorical(F.softmax(self.linear2(F.relu(self.linear1(state))), dim=-1))


class Critic(nn.Module):
    def __init__(self, state_size):
        super().__init__()
        self.linear1 = nn.Linear(state_size, 16)
        self.linear2 = nn.Linear(16, 1)

    def forward(self, state):
        return self.linear2(F.relu(self.linear1(state)))


class CorridorEnv:
    def __init__(self, length=7):
        self.length = length

    def reset(self):
        self.position, self.steps = 0, 0
        return self._observe()

    def _observe(self):
        return torch.tensor([self.position / self.length, 1.0])

    def step(self, action):
        self.steps += 1
        self.position = max(0, self.position + (1 if action == 1 else -1))
        done = self.position >= self.length or self.steps >= 12
        return self._observe(), float(action == 1), done


def compute_returns(next_value, rewards, masks, gamma=0.99):
    R = next_value
    returns = []
    for step in reversed(range(len(rewards))):
        R = rewards[step] + gamma * R * masks[step]
        returns.insert(0, R)
    return returns


def train_iters(actor, critic, env, n_iters):
    optimizer_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
    optimizer_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for it in range(n_iters):
        state, done = env.reset(), False
        log_probs, values, rewards, masks = [], [], [], []
        while not done:
            dist, value = actor(state), critic(state)
            action = dist.sample()
            state, reward, done = env.step(action.item())
            log_probs.append(dist.log_prob(action).unsqueeze(0))
            values.append(value)
            rewards.append(torch.tensor([reward]))
            masks.append(torch.tensor([1.0 - done]))

        returns = torch.cat(compute_returns(critic(state).detach(), rewards, masks))
        advantage = returns - torch.cat(values)
        actor_loss = -(torch.cat(log_probs) * advantage.detach()).mean()
        critic_loss = advantage.pow(2).mean()

        optimizer_a.zero_grad()
        optimizer_c.zero_grad()
        actor_loss.backward()
        critic_loss.backward()
        optimizer_a.step()
        optimizer_c.step()
        print(f"Iteration: {it}, Score: {len(rewards)}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_iters(Actor(2, 2), Critic(2), CorridorEnv(), n_iters=3)
