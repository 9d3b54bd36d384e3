import heapq
import itertools
import random

import torch
import torch.nn as nn


class PrioritizedMemory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.heap = []
        self.counter = itertools.count()

    def push(self, td_error, transition):
        heapq.heappush(self.heap, (-abs(td_error.item()), next(self.counter), transition))
        if len(self.heap) > self.capacity:
            self.heap.pop()

    def top(self, n):
        return [t for _, _, t in heapq.nsmallest(n, self.heap)]

    def __len__(self):
        return len(self.heap)


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = PrioritizedMemory(50)
        self.gamma = 0.9

    def td(self, s, a, r, s2):
        q_sa = self.q(s)[a]
        target = r + self.gamma * self.q(s2).max().detach()
        return target - q_sa

    def observe(self, s, a, r, s2):
        td = self.td(s, a, r, s2)
        self.memory.push(td, (s, a, r, s2))

    def learn(self, batch_size=2):
        if len(self.memory) < batch_size:
            return
        batch = self.memory.top(batch_size)
        loss = torch.stack([self.td(*t) for t in batch]).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


agent = Agent()
state = torch.zeros(3)
for step in range(6):
    action = random.randrange(2)
    nxt = torch.rand(3)
    agent.observe(state, action, random.random(), nxt)
    agent.learn()
    state = nxt
