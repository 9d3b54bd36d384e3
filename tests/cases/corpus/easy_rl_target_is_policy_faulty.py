# %% [markdown]
# # Actor and critic with a shared TD error
# %%
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

# %%
class MLP(nn.Module):
    def __init__(self, n_in, n_out, hidden=16):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(n_in, hidden), nn.Linear(hidden, n_out)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

# %%
class ReplayBuffer(object):
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, *transition):
        self.buffer.append(transition)

    def sample(self, n):
        return map(np.array, zip(*random.sample(self.buffer, n)))

    def __len__(self):
        return len(self.buffer)

# %%
class ActorCritic:
    def __init__(self, n_states, n_actions, cfg):
        self.gamma = cfg["gamma"]
        self.actor, self.critic = MLP(n_states, n_actions), MLP(n_states, 1)
        self.actor_optim = optim.Adam(self.actor.parameters(), lr=cfg["actor_lr"])
        self.critic_optim = optim.Adam(self.critic.parameters(), lr=cfg["critic_lr"])
        self.memory = ReplayBuffer(100)
        self.batch_size = cfg["batch_size"]

    def sample_action(self, state):
        with torch.no_grad():
            logits = self.actor(torch.tensor(state, dtype=torch.float32).unsqueeze(0))
        return torch.distributions.Categorical(logits=logits).sample().item()

    def update(self):
        if len(self.memory) < self.batch_size:
            return
        states, actions, rewards, next_states, dones = self.memory.sample(self.batch_size)
        states = torch.tensor(states, dtype=torch.float)
        actions = torch.tensor(actions).unsqueeze(1)
        rewards = torch.tensor(rewards, dtype=torch.float).unsqueeze(1)
        next_states = torch.tensor(next_states, dtype=torch.float)
        dones = torch.tensor(dones, dtype=torch.float).unsqueeze(1)
        td_target = rewards + self.gamma * self.critic(next_states) * (1 - dones)
        td_error = td_target.detach() - self.critic(states)
        log_prob = torch.log_softmax(self.actor(states), dim=1).gather(1, actions)
        actor_loss = -(log_prob * td_error).mean()
        critic_loss = td_error.pow(2).mean()
        self.actor_optim.zero_grad()
        actor_loss.backward()
        self.actor_optim.step()
        self.critic_optim.zero_grad()
        critic_loss.backward()  # error: [double-backward]  # raises: RuntimeError "a second time"
        self.critic_optim.step()

# %%
cfg = {"gamma": 0.95, "actor_lr": 1e-3, "critic_lr": 1e-3, "batch_size": 8}
agent = ActorCritic(3, 2, cfg)
for episode in range(3):
    state, done, step = np.random.rand(3).astype("float32"), False, 0
    while not done:
        action = agent.sample_action(state)
        next_state, reward, done = np.random.rand(3).astype("float32"), float(action), step >= 9
        agent.memory.push(state, action, reward, next_state, done)
        state = next_state
        agent.update()
        step += 1
