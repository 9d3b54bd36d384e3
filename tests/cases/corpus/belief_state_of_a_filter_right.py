from typing import NamedTuple

import torch
import torch.nn as nn


class Belief(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor


class Filter(nn.Module):
    def __init__(self, obs=3, state=4):
        super().__init__()
        self.move = nn.Linear(state, state)
        self.gain = nn.Sequential(nn.Linear(obs + state, state), nn.Sigmoid())
        self.lift = nn.Linear(obs, state)
        self.read = nn.Linear(state, obs)
        self.state = state

    def start(self, batch):
        return Belief(torch.zeros(batch, self.state), torch.ones(batch, self.state))

    def forward(self, belief, observation):
        mean = torch.tanh(self.move(belief.mean))
        gain = self.gain(torch.cat([observation, mean], dim=1))
        mean = mean + gain * (self.lift(observation) - mean)
        spread = belief.spread * (1 - gain) + 1e-3
        return Belief(mean, spread), self.read(mean)


class Tracker:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.belief = None

    def observe(self, observation):
        if self.belief is None:
            self.belief = self.model.start(observation.size(0))
        self.belief, estimate = self.model(self.belief, observation)
        loss = (estimate - observation).pow(2).mean() + self.belief.spread.log().mean() * 0.01
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.belief = Belief(*(part.detach() for part in self.belief))
        return loss.item()


tracker = Tracker(Filter())
for frame in torch.randn(4, 2, 3):
    print(tracker.observe(frame))
