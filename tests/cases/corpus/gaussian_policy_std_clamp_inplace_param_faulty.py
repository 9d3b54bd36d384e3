import torch
import torch.nn as nn
from torch.distributions import MultivariateNormal, Normal


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs_dim, 16), nn.Tanh(), nn.Linear(16, act_dim))
        self.log_std = nn.Parameter(-0.5 * torch.ones(act_dim))

    def dist(self, obs):
        self.log_std.clamp_(-20, 2)  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        return Normal(self.mu(obs), self.log_std.exp())

    @torch.no_grad()
    def act(self, obs):
        d = self.dist(obs)
        a = d.sample()
        return a, d.log_prob(a).sum(-1)


policy = GaussianPolicy(3, 2)
opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
obs = torch.randn(8, 3)
act, logp_old = policy.act(obs)
adv = torch.randn(8)
for _ in range(2):
    d = policy.dist(obs)
    ratio = (d.log_prob(act).sum(-1) - logp_old).exp()
    loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
