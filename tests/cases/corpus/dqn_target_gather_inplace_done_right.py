import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class QNetwork(nn.Module):
    def __init__(self, state_size, action_size, seed=0):
        super().__init__()
        self.seed = torch.manual_seed(seed)
        self.fc1 = nn.Linear(state_size, 16)
        self.fc2 = nn.Linear(16, action_size)

    def forward(self, state):
        return self.fc2(F.relu(self.fc1(state)))


class Agent:
    def __init__(self, state_size, action_size):
        self.qnetwork_local = QNetwork(state_size, action_size)
        self.qnetwork_target = QNetwork(state_size, action_size)
        self.optimizer = torch.optim.Adam(self.qnetwork_local.parameters(), lr=5e-4)
        self.memory = deque(maxlen=100)
        self.t_step = 0

    def step(self, *experience):
        self.memory.append(experience)
        self.t_step = (self.t_step + 1) % 4
        if self.t_step == 0 and len(self.memory) > 4:
            self.learn(random.sample(self.memory, k=4), 0.99)

    def act(self, state, eps=0.1):
        state = torch.from_numpy(state).float().unsqueeze(0)
        self.qnetwork_local.eval()
        with torch.no_grad():
            action_values = self.qnetwork_local(state)
        self.qnetwork_local.train()
        return int(np.argmax(action_values.numpy())) if random.random() > eps else random.randrange(2)

    def learn(self, experiences, gamma):
        s, a, r, s2, d = zip(*experiences)
        states = torch.from_numpy(np.vstack(s)).float()
        actions = torch.tensor(a).long().unsqueeze(1)
        rewards = torch.tensor(r).float().unsqueeze(1)
        next_states = torch.from_numpy(np.vstack(s2)).float()
        dones = torch.tensor(d).float().unsqueeze(1)
        Q_targets_next = self.qnetwork_target(next_states).detach().max(1)[0].unsqueeze(1)
        Q_targets = rewards + gamma * Q_targets_next * (1 - dones)
        Q_expected = self.qnetwork_local(states).gather(1, actions)
        loss = F.mse_loss(Q_expected, Q_targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.soft_update(self.qnetwork_local, self.qnetwork_target, 1e-3)

    def soft_update(self, local_model, target_model, tau):
        for target_param, local_param in zip(target_model.parameters(), local_model.parameters()):
            target_param.data.copy_(tau * local_param.data + (1.0 - tau) * target_param.data)


agent = Agent(4, 2)
for i_episode in range(1, 3):
    state = np.random.rand(4)
    for t in range(10):
        action = agent.act(state)
        next_state, reward, done = np.random.rand(4), random.random(), t == 9
        agent.step(state, action, reward, next_state, done)
        state = next_state
        if done:
            break
