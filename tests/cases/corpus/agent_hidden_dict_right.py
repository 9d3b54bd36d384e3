import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Agent:
    n_agents = 2

    def __init__(self, obs_dim=3, n_actions=2, hidden=5):
        self.fc, self.rnn = nn.Linear(obs_dim, hidden), nn.GRUCell(hidden, hidden)
        self.q = nn.Linear(hidden, n_actions)
        self.hidden_states = {}
        self.hidden_dim = hidden

    def parameters(self):
        for layer in (self.fc, self.rnn, self.q):
            yield from layer.parameters()

    def init_hidden(self, batch_size):
        for name in range(self.n_agents):
            self.hidden_states[name] = torch.zeros(batch_size, self.hidden_dim)

    def forward(self, name, obs):
        h = self.rnn(F.relu(self.fc(obs)), self.hidden_states[name])
        self.hidden_states[name] = h
        return self.q(h)


class Learner:
    def __init__(self, agent, lr=5e-4):
        self.agent = agent
        self.optimiser = torch.optim.RMSprop(agent.parameters(), lr=lr, alpha=0.99, eps=1e-5)

    def train(self, batch, t_max=3):
        bs = batch["obs"].size(0)
        self.agent.init_hidden(bs)
        outs = []
        for t in range(t_max):
            outs.append(torch.stack([self.agent.forward(a, batch["obs"][:, t]) for a in range(Agent.n_agents)], 1))
        mac_out = torch.stack(outs, dim=1)
        chosen = torch.gather(mac_out, 3, batch["actions"]).squeeze(3)
        targets = batch["reward"].unsqueeze(-1) + 0.99 * mac_out.detach().max(3)[0]
        td_error = chosen - targets.detach()
        loss = (td_error**2).mean()
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.agent.parameters()), 10)
        self.optimiser.step()


def sample(n=2, t=3):
    return {"obs": torch.rand(n, t, 3), "actions": torch.randint(0, 2, (n, t, 2, 1)), "reward": torch.rand(n, t)}


agent = Agent()
agent.init_hidden(2)
learner = Learner(agent)
for episode in range(3):
    learner.train(sample())
