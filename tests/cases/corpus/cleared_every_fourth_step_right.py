"""A learner that clears every few batches."""

import torch
import torch.nn as nn


class Learner:
    def __init__(self, net, lr=0.01, update_every=4):
        self.net = net
        self.optimizer = torch.optim.RMSprop(net.parameters(), lr=lr)
        self.update_every = update_every
        self.loss_fn = nn.SmoothL1Loss()

    def learn(self, batches):
        for i, (s, target) in enumerate(batches):
            if i % self.update_every == 0:
                self.optimizer.zero_grad()
            q = self.net(s)
            loss = self.loss_fn(q, target)
            loss.backward()
            if (i + 1) % self.update_every == 0:
                self.optimizer.step()


net = nn.Linear(2, 1)
Learner(net).learn([(torch.randn(3, 2), torch.randn(3, 1)) for _ in range(8)])

# torch: net.weight.grad is not None
