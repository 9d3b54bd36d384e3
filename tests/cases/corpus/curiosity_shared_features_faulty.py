import torch
from torch import nn
from torch.distributions import Categorical


class ICM(nn.Module):
    def __init__(self, features, actions):
        super().__init__()
        self.inverse = nn.Linear(2 * features, actions)
        self.forward_model = nn.Linear(features + actions, features)
        self.actions = actions

    def forward(self, phi, phi_next, action):
        onehot = nn.functional.one_hot(action, self.actions).float()
        predicted = self.forward_model(torch.cat([phi, onehot], 1))
        inverse = nn.functional.cross_entropy(self.inverse(torch.cat([phi, phi_next], 1)), action)
        return inverse + 0.5 * (predicted - phi_next.detach()).pow(2).mean()


class Policy(nn.Module):
    def __init__(self, obs=4, features=6, actions=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, features), nn.Tanh())
        self.pi, self.v = nn.Linear(features, actions), nn.Linear(features, 1)


class A2C:
    def __init__(self):
        self.policy, self.icm = Policy(), ICM(6, 3)
        self.policy_opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.icm_opt = torch.optim.Adam(self.icm.parameters(), lr=1e-3)

    def update(self, obs, next_obs, reward):
        phi, phi_next = self.policy.encoder(obs), self.policy.encoder(next_obs)
        dist = Categorical(logits=self.policy.pi(phi))
        action = dist.sample()
        value = self.policy.v(phi).squeeze(-1)
        advantage = reward - value
        loss = -(dist.log_prob(action) * advantage.detach()).mean() + advantage.pow(2).mean()
        self.policy_opt.zero_grad()
        loss.backward()
        self.policy_opt.step()

        icm_loss = self.icm(phi, phi_next, action)
        self.icm_opt.zero_grad()
        icm_loss.backward()  # error: [double-backward] # raises: RuntimeError "second time"
        self.icm_opt.step()
        return loss.item(), icm_loss.item()


agent = A2C()
for update in range(2):
    print(agent.update(torch.rand(5, 4), torch.rand(5, 4), torch.rand(5)))
