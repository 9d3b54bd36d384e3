import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn, optim


class Agent:
    def __init__(self, state_size, action_size, seed, hidden=16):
        random.seed(seed)
        self.local = nn.Sequential(nn.Linear(state_size, hidden), nn.ReLU(), nn.Linear(hidden, action_size))
        self.target = nn.Sequential(nn.Linear(state_size, hidden), nn.ReLU(), nn.Linear(hidden, action_size))
        self.optimizer = optim.RMSprop(self.local.parameters(), lr=5e-4)
        self.memory = deque(maxlen=500)
        self.t = 0

    def step(self, s, a, r, s2, d):
        self.memory.append((s, a, r, s2, d))
        self.t = (self.t + 1) % 2
        if self.t == 0 and len(self.memory) > 8:
            self.learn(random.sample(self.memory, 8))

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.local(s).argmax().item()

    def learn(self, batch):
        s, a, r, s2, d = zip(*batch)
        q_next = self.target(torch.stack(s2)).max(1)[0].detach()
        y = torch.tensor(r) + 0.99 * q_next * (1 - torch.tensor(d).float())
        q = self.local(torch.stack(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
        loss = F.mse_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        for p in self.local.parameters():
            p.grad.clamp(-0.001, 0.001)  # warning: [discarded-result]
        self.optimizer.step()
        for t, l in zip(self.target.parameters(), self.local.parameters()):
            t.data.copy_(0.01 * l.data + 0.99 * t.data)
