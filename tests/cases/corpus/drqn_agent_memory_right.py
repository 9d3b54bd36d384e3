"""A recurrent Q-network whose hidden state lives on the agent."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

OBS, ACTIONS, HIDDEN = 4, 2, 16


class GridEnv:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.t, self.state = 0, torch.randn(OBS)
        return self.state

    def step(self, action):
        self.t += 1
        reward = 1.0 if (self.state[0] > 0) == (action == 1) else -1.0
        self.state = torch.randn(OBS)
        return self.state, reward, self.t >= self.length


class RecurrentQNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(OBS, HIDDEN)
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, ACTIONS)

    def forward(self, obs, hidden):
        hidden = self.cell(F.relu(self.encoder(obs)), hidden)
        return self.head(hidden), hidden


class Agent:
    def __init__(self, gamma=0.9, epsilon=0.1):
        self.net = RecurrentQNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.gamma, self.epsilon = gamma, epsilon
        self.hidden = torch.zeros(1, HIDDEN)

    def begin_episode(self):
        self.hidden = torch.zeros(1, HIDDEN)

    def act(self, obs):
        self.q_values, self.hidden = self.net(obs.unsqueeze(0), self.hidden.detach())
        if random.random() < self.epsilon:
            return random.randrange(ACTIONS)
        return int(self.q_values.argmax(dim=1))

    def learn(self, action, reward, next_obs, done):
        with torch.no_grad():
            next_q, _ = self.net(next_obs.unsqueeze(0), self.hidden)
            target = reward + (0.0 if done else self.gamma * next_q.max().item())
        loss = F.smooth_l1_loss(self.q_values[0, action], torch.tensor(target))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    random.seed(3)
    torch.manual_seed(3)
    env, agent = GridEnv(), Agent()
    for episode in range(3):
        obs, done, losses = env.reset(), False, []
        agent.begin_episode()
        while not done:
            action = agent.act(obs)
            next_obs, reward, done = env.step(action)
            losses.append(agent.learn(action, reward, next_obs, done))
            obs = next_obs
        print(f"episode {episode}: mean loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
