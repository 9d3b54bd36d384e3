import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

OBS_DIM, ACT_DIM = 4, 2


class GaussianPolicy(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.linear = nn.Linear(OBS_DIM, hidden)
        self.mean = nn.Linear(hidden, ACT_DIM)
        self.log_std = nn.Linear(hidden, ACT_DIM)

    def sample(self, state):
        x = F.relu(self.linear(state))
        normal = Normal(self.mean(x), self.log_std(x).clamp(-5, 2).exp())
        x_t = normal.rsample()
        action = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


class QNetwork(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(OBS_DIM + ACT_DIM, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.q2 = nn.Sequential(nn.Linear(OBS_DIM + ACT_DIM, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, state, action):
        xu = torch.cat([state, action], 1)
        return self.q1(xu), self.q2(xu)


class SAC:
    def __init__(self, gamma=0.99, tau=0.005, lr=3e-4):
        self.gamma, self.tau = gamma, tau
        self.policy, self.critic = GaussianPolicy(), QNetwork()
        self.critic_target = copy.deepcopy(self.critic)
        self.target_entropy = -float(ACT_DIM)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=lr)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=lr)

    def update_critic(self, state, action, reward, next_state):
        alpha = self.log_alpha.exp().item()
        with torch.no_grad():
            next_action, next_log_pi = self.policy.sample(next_state)
            q1_next, q2_next = self.critic_target(next_state, next_action)
            target = reward + self.gamma * (torch.min(q1_next, q2_next) - alpha * next_log_pi)
        q1, q2 = self.critic(state, action)
        loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_optim.zero_grad()
        loss.backward()
        self.critic_optim.step()
        return loss.item()

    def update_policy(self, state):
        pi, log_pi = self.policy.sample(state)

        alpha_loss = -(self.log_alpha * (log_pi + self.target_entropy).detach()).mean()
        self.alpha_optim.zero_grad()
        alpha_loss.backward()
        self.alpha_optim.step()

        alpha = self.log_alpha.exp().detach()
        q1_pi, q2_pi = self.critic(state, pi)
        policy_loss = (alpha * log_pi - torch.min(q1_pi, q2_pi)).mean()
        self.policy_optim.zero_grad()
        policy_loss.backward()
        self.policy_optim.step()
        return policy_loss.item(), alpha.item()

    def soft_update(self):
        for target, source in zip(self.critic_target.parameters(), self.critic.parameters()):
            target.data.copy_(target.data * (1.0 - self.tau) + source.data * self.tau)


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = SAC()
    for update in range(4):
        state, next_state = torch.randn(16, OBS_DIM), torch.randn(16, OBS_DIM)
        action, reward = torch.rand(16, ACT_DIM) * 2 - 1, torch.randn(16, 1)
        critic_loss = agent.update_critic(state, action, reward, next_state)
        policy_loss, alpha = agent.update_policy(state)
        agent.soft_update()
        print(f"{update}: critic {critic_loss:.3f} policy {policy_loss:.3f} alpha {alpha:.4f}")
