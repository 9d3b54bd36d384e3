import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 16)
        self.action_layer = nn.Linear(16, 2)
        self.value_layer = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.relu(self.affine(x))
        return Categorical(logits=self.action_layer(x)), self.value_layer(x)


class Env:
    def reset(self):
        self.t = 0
        return torch.zeros(4)

    def step(self, a):
        self.t += 1
        return torch.rand(4), 1.0 if a else 0.0, self.t >= 4


env, model = Env(), ActorCritic()
optimizer = optim.Adam(model.parameters(), lr=0.02)
gamma = 0.99
for episode in range(2):
    state = env.reset()
    dist, value = model(state)
    done = False
    while not done:
        action = dist.sample()
        next_state, reward, done = env.step(action.item())
        next_dist, next_value = model(next_state)
        target = reward + gamma * next_value.detach() * (1 - int(done))
        td = target - value
        loss = td.pow(2) - dist.log_prob(action) * td.detach()
        optimizer.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        optimizer.step()  # error: [parameter-updated-before-backward]
        state = next_state
        dist, value = next_dist, next_value
