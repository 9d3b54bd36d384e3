"""Deep Q-learning that keeps its losses."""

import torch
import torch.nn as nn


class DQNAgent:
    def __init__(self, q_net, target_net, optimizer, memory, gamma=0.99, tau=0.005):
        self.q_net, self.target_net = q_net, target_net
        self.optimizer, self.memory = optimizer, memory
        self.gamma, self.tau = gamma, tau
        self.loss_history = []

    def optimize(self, batch_size):
        states, actions, rewards, next_states, dones = self.memory.sample(batch_size)
        q = self.q_net(states).gather(1, actions)
        with torch.no_grad():
            next_q = self.target_net(next_states).max(1, keepdim=True)[0]
            target = rewards + self.gamma * next_q * (1 - dones)
        loss = nn.functional.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        for param in self.q_net.parameters():
            param.grad.data.clamp_(-1, 1)
        self.optimizer.step()
        self.loss_history.append(loss.item())

    def train(self, n_updates, batch_size):
        for _ in range(n_updates):
            self.optimize(batch_size)
            for t, p in zip(self.target_net.parameters(), self.q_net.parameters()):
                t.data.copy_(self.tau * p.data + (1 - self.tau) * t.data)


class Memory:
    def sample(self, n):
        return torch.randn(n, 4), torch.randint(0, 2, (n, 1)), torch.randn(n, 1), torch.randn(n, 4), torch.zeros(n, 1)


q, t = nn.Linear(4, 2), nn.Linear(4, 2)
agent = DQNAgent(q, t, torch.optim.Adam(q.parameters()), Memory())
agent.train(4, 8)

# torch: isinstance(agent.loss_history[0], float)
