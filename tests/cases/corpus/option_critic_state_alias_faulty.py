import torch
import torch.nn as nn
from torch.distributions import Categorical


class GridEnv:
    def __init__(self):
        self.state = torch.zeros(4)
        self.t = 0

    def reset(self):
        self.t = 0
        self.state = torch.zeros(4)
        return self.state

    def step(self, action):
        self.t += 1
        self.state[action] += 1.0  # error: [inplace-on-saved]
        return self.state, 1.0, self.t >= 5, {}


class ActorCritic(nn.Module):
    def __init__(self, in_features, num_actions):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(in_features, 16), nn.ReLU())
        self.pi = nn.Linear(16, num_actions)
        self.v = nn.Linear(16, 1)

    def forward(self, obs):
        h = self.features(obs)
        return Categorical(logits=self.pi(h)), self.v(h)


def run(max_episodes=3, gamma=0.99):
    env = GridEnv()
    net = ActorCritic(4, 4)
    optim = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for ep in range(max_episodes):
        obs = env.reset()
        done = False
        log_probs, values, rewards = [], [], []
        while not done:
            dist, value = net(obs)
            action = dist.sample()
            obs, reward, done, _ = env.step(action.item())
            log_probs.append(dist.log_prob(action))
            values.append(value)
            rewards.append(reward)
        R, returns = 0.0, []
        for r in reversed(rewards):
            R = r + gamma * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        values = torch.cat(values)
        adv = returns - values.detach()
        loss = -(torch.stack(log_probs) * adv).mean() + (returns - values).pow(2).mean()
        optim.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        optim.step()
        print(f"episode {ep} return {sum(rewards)}")


if __name__ == "__main__":
    run()
