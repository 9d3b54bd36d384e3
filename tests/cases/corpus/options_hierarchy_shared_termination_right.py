import torch
from torch import nn
from torch.distributions import Bernoulli, Categorical


class OptionCritic(nn.Module):
    def __init__(self, obs, options, actions):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(obs, 16), nn.ReLU())
        self.Q = nn.Linear(16, options)
        self.terminations = nn.Linear(16, options)
        self.W = nn.Parameter(torch.zeros(options, 16, actions))

    def state(self, obs):
        return self.features(obs)

    def action(self, state, option):
        dist = Categorical(logits=state @ self.W[option])
        a = dist.sample()
        return a.item(), dist.log_prob(a), dist.entropy()

    def terminates(self, state, option):
        p = self.terminations(state)[option].sigmoid()
        return bool(Bernoulli(p).sample().item()), p


net = OptionCritic(3, 2, 2)
opt = torch.optim.RMSprop(net.parameters(), lr=5e-4)
state = net.state(torch.randn(3))
option = 0
for step in range(6):
    action, logp, entropy = net.action(state, option)
    next_obs, reward = torch.randn(3), float(action)
    next_state = net.state(next_obs)
    done, beta = net.terminates(next_state, option)
    target = reward + 0.99 * net.Q(next_state).max().detach()
    td = target - net.Q(state)[option]
    loss = td.pow(2) - logp * td.detach() - 0.01 * entropy + beta * 0.1
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = net.state(next_obs)
