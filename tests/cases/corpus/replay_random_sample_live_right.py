import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "value", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = optim.Adam(net.parameters(), lr=1e-3)
memory = ReplayMemory(100)
BATCH_SIZE = 4


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return
    transitions = memory.sample(BATCH_SIZE)
    batch = Transition(*zip(*transitions))
    values = net(torch.stack(batch.state)).squeeze(1)
    rewards = torch.tensor(batch.reward)
    loss = F.smooth_l1_loss(values, rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for i_episode in range(3):
    state = torch.rand(4)
    for t in range(8):
        value = net(state)
        reward = random.random()
        memory.push(state, value.detach(), reward)
        state = torch.rand(4)
        optimize_model()
