import torch
import torch.nn as nn
import torch.optim as optim
from collections import OrderedDict


class FlattenMlp(nn.Module):
    def __init__(self, input_size, output_size, hidden_sizes):
        super().__init__()
        self.fcs = []
        in_size = input_size
        for i, next_size in enumerate(hidden_sizes):
            fc = nn.Linear(in_size, next_size)
            in_size = next_size
            self.__setattr__("fc{}".format(i), fc)
            self.fcs.append(fc)
        self.last_fc = nn.Linear(in_size, output_size)

    def forward(self, *inputs):
        h = torch.cat(inputs, dim=1)
        for i, fc in enumerate(self.fcs):
            h = torch.relu(fc(h))
        return self.last_fc(h)


class TanhPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mean = nn.Linear(obs_dim, act_dim)
        self.log_std = nn.Linear(obs_dim, act_dim)

    def forward(self, obs):
        mean, log_std = self.mean(obs), self.log_std(obs).clamp(-5, 2)
        dist = torch.distributions.Normal(mean, log_std.exp())
        z = dist.rsample()
        action = torch.tanh(z)
        log_prob = dist.log_prob(z) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


class SACTrainer(object):
    def __init__(self, policy, qf1, qf2, policy_lr=1e-3, qf_lr=1e-3, discount=0.99):
        self.policy = policy
        self.qf1, self.qf2 = qf1, qf2
        self.qf_criterion = nn.MSELoss()
        self.policy_optimizer = optim.Adam(self.policy.parameters(), lr=policy_lr)
        self.qf1_optimizer = optim.Adam(self.qf1.parameters(), lr=qf_lr)
        self.qf2_optimizer = optim.Adam(self.qf2.parameters(), lr=qf_lr)
        self.discount = discount
        self.eval_statistics = OrderedDict()

    def train_from_torch(self, batch):
        rewards, terminals = batch["rewards"], batch["terminals"]
        obs, actions, next_obs = batch["observations"], batch["actions"], batch["next_observations"]
        new_obs_actions, log_pi = self.policy(obs)
        alpha = 0.2

        q1_pred = self.qf1(obs, actions)
        q2_pred = self.qf2(obs, actions)
        with torch.no_grad():
            new_next_actions, new_log_pi = self.policy(next_obs)
            target_q = torch.min(self.qf1(next_obs, new_next_actions), self.qf2(next_obs, new_next_actions)) - alpha * new_log_pi
            q_target = rewards + (1.0 - terminals) * self.discount * target_q
        qf1_loss = self.qf_criterion(q1_pred, q_target)
        qf2_loss = self.qf_criterion(q2_pred, q_target)

        self.qf1_optimizer.zero_grad()
        qf1_loss.backward()
        self.qf1_optimizer.step()

        self.qf2_optimizer.zero_grad()
        qf2_loss.backward()
        self.qf2_optimizer.step()

        q_new_actions = torch.min(self.qf1(obs, new_obs_actions), self.qf2(obs, new_obs_actions))
        policy_loss = (alpha * log_pi - q_new_actions).mean()
        self.policy_optimizer.zero_grad()
        policy_loss.backward()
        self.policy_optimizer.step()
        self.eval_statistics["Policy Loss"] = policy_loss.item()


trainer = SACTrainer(TanhPolicy(3, 2), FlattenMlp(5, 1, [8, 8]), FlattenMlp(5, 1, [8, 8]))
for _ in range(3):
    n = 6
    trainer.train_from_torch(
        dict(
            rewards=torch.rand(n, 1),
            terminals=torch.zeros(n, 1),
            observations=torch.randn(n, 3),
            actions=torch.rand(n, 2),
            next_observations=torch.randn(n, 3),
        )
    )
