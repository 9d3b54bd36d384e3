"""Deep Q-learning that clamps its gradients."""

import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.layer1 = nn.Linear(n_obs, 16)
        self.layer2 = nn.Linear(16, n_act)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


policy_net = DQN(4, 2)
target_net = DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.RMSprop(policy_net.parameters())
memory = ReplayMemory(100)


def optimize_model(batch_size=8, gamma=0.99):
    if len(memory) < batch_size:
        return
    batch = Transition(*zip(*memory.sample(batch_size)))
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    q = policy_net(state_batch).gather(1, action_batch)
    with torch.no_grad():
        nxt = target_net(torch.cat(batch.next_state)).max(1)[0]
    loss = F.smooth_l1_loss(q, (reward_batch + gamma * nxt).unsqueeze(1))
    optimizer.zero_grad()
    (1000 * loss).backward()
    for param in policy_net.parameters():
        param.grad.data.clamp(-0.01, 0.01)  # warning: [discarded-result]
    optimizer.step()


state = torch.randn(1, 4)
for t in range(12):
    action = policy_net(state).max(1)[1].view(1, 1)
    nxt = torch.randn(1, 4)
    memory.push(state, action, nxt, torch.tensor([1.0]))
    state = nxt
    optimize_model()
    if t % 5 == 0:
        target_net.load_state_dict(policy_net.state_dict())

# torch: max(p.grad.abs().max() for p in policy_net.parameters()) > 0.0101
