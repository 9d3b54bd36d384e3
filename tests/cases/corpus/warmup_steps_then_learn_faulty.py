import random
import torch
import torch.nn as nn
import torch.nn.functional as F

TOTAL, WARMUP, UPDATE_EVERY, BATCH = 60, 20, 4, 8


class Replay:
    def __init__(self, capacity):
        self.capacity, self.data, self.pos = capacity, [], 0

    def store(self, *transition):
        if len(self.data) < self.capacity:
            self.data.append(None)
        self.data[self.pos] = transition
        self.pos = (self.pos + 1) % self.capacity

    def sample(self, n):
        s, a, r, s2 = map(torch.stack, zip(*random.sample(self.data, n)))
        return s, a, r, s2

    def __len__(self):
        return len(self.data)


actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor_t = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic_t = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor_t.load_state_dict(actor.state_dict())
critic_t.load_state_dict(critic.state_dict())
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-4)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
random.seed(0)
torch.manual_seed(0)
buffer = Replay(100)
s = torch.randn(3)
t = 0
while t < TOTAL:
    a = actor(s) + 0.1 * torch.randn(1)
    s2 = torch.randn(3)
    buffer.store(s, a, -(s.sum() - a).pow(2).view(1), s2)
    s = s2
    t += 1
    if t < WARMUP or t % UPDATE_EVERY:
        continue
    bs, ba, br, bs2 = buffer.sample(BATCH)
    with torch.no_grad():
        y = br + 0.99 * critic_t(torch.cat([bs2, actor_t(bs2)], 1))
    c_loss = F.mse_loss(critic(torch.cat([bs, ba], 1)), y)
    c_opt.zero_grad()
    c_loss.backward()  # error: [carried-graph] # raises: RuntimeError
    c_opt.step()
    a_loss = -critic(torch.cat([bs, actor(bs)], 1)).mean()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
