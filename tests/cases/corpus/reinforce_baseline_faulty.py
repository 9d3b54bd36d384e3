import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, obs_dim=3, n_actions=2):
        super().__init__()
        self.affine = nn.Linear(obs_dim, 16)
        self.action_head = nn.Linear(16, n_actions)
        self.value_head = nn.Linear(16, 1)

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


class Bandit:
    def __init__(self, steps=8):
        self.steps = steps

    def rollout(self, policy):
        observations = torch.randn(self.steps, 3)
        log_probs, rewards, values = [], [], []
        for obs in observations:
            probs, value = policy(obs)
            dist = Categorical(probs)
            action = dist.sample()
            log_probs.append(dist.log_prob(action))
            values.append(value.squeeze())
            rewards.append(1.0 if action.item() == int(obs[0] > 0) else 0.0)
        return torch.stack(log_probs), torch.tensor(rewards), torch.stack(values)


def discount(rewards, gamma=0.95):
    returns, running = [], 0.0
    for r in reversed(rewards.tolist()):
        running = r + gamma * running
        returns.insert(0, running)
    return torch.tensor(returns)


def train(policy, env, optimizer, episodes=5, momentum=0.9):
    baseline = torch.zeros(())
    for episode in range(episodes):
        log_probs, rewards, values = env.rollout(policy)
        returns = discount(rewards)
        baseline = momentum * baseline + (1 - momentum) * values.mean()
        policy_loss = -(log_probs * (returns - baseline)).mean()
        value_loss = F.mse_loss(values, returns)
        loss = policy_loss + 0.5 * value_loss
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
        print(f"episode {episode}: reward {rewards.sum().item():.0f}, loss {loss.item():.4f}")


def main():
    torch.manual_seed(543)
    policy = Policy()
    train(policy, Bandit(), torch.optim.Adam(policy.parameters(), lr=1e-2))


if __name__ == "__main__":
    main()
