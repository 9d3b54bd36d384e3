import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, obs_shape):
        super().__init__()
        self.repr_dim = 8
        self.convnet = nn.Sequential(nn.Conv2d(obs_shape[0], 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(self.repr_dim))

    def forward(self, obs):
        return self.convnet(obs / 255.0 - 0.5)


class ICM(nn.Module):
    def __init__(self, obs_dim, action_dim, hidden):
        super().__init__()
        self.forward_net = nn.Sequential(nn.Linear(obs_dim + action_dim, hidden), nn.ReLU(), nn.Linear(hidden, obs_dim))
        self.backward_net = nn.Sequential(nn.Linear(2 * obs_dim, hidden), nn.ReLU(), nn.Linear(hidden, action_dim), nn.Tanh())

    def forward(self, obs, action, next_obs):
        next_obs_hat = self.forward_net(torch.cat([obs, action], dim=-1))
        action_hat = self.backward_net(torch.cat([obs, next_obs], dim=-1))
        forward_error = torch.norm(next_obs - next_obs_hat, dim=-1, p=2, keepdim=True)
        backward_error = torch.norm(action - action_hat, dim=-1, p=2, keepdim=True)
        return forward_error, backward_error


class ICMAgent:
    def __init__(self, obs_shape, action_dim, update_encoder, lr):
        self.encoder = Encoder(obs_shape)
        with torch.no_grad():
            self.encoder(torch.zeros(1, *obs_shape))
        self.icm = ICM(self.encoder.repr_dim, action_dim, 16)
        self.update_encoder = update_encoder
        self.encoder_opt = torch.optim.Adam(self.encoder.parameters(), lr=lr)
        self.icm_opt = torch.optim.Adam(self.icm.parameters(), lr=lr)
        self.training = True

    def update_icm(self, obs, action, next_obs):
        metrics = dict()
        forward_error, backward_error = self.icm(obs, action, next_obs)
        loss = forward_error.mean() + backward_error.mean()
        self.icm_opt.zero_grad(set_to_none=True)
        self.encoder_opt.zero_grad(set_to_none=True)
        loss.backward()
        self.icm_opt.step()
        self.encoder_opt.step()  # warning: [unreached-parameter]
        metrics['icm_loss'] = loss.item()
        return metrics

    def update(self, replay_iter, step):
        metrics = dict()
        if step % 2 != 0:
            return metrics
        obs, action, next_obs = next(replay_iter)
        obs = self.encoder(obs)
        next_obs = self.encoder(next_obs)
        if not self.update_encoder:
            obs, next_obs = obs.detach(), next_obs.detach()
        obs = obs.detach()
        next_obs = next_obs.detach()
        metrics.update(self.update_icm(obs, action, next_obs))
        return metrics


def replay():
    while True:
        yield torch.randint(255, (3, 1, 9, 9)).float(), torch.rand(3, 2), torch.randint(255, (3, 1, 9, 9)).float()


torch.manual_seed(0)
agent, data = ICMAgent((1, 9, 9), 2, True, 1e-3), replay()
before = agent.encoder.convnet[0].weight.detach().clone()
for step in range(6):
    agent.update(data, step)
# torch: torch.equal(before, agent.encoder.convnet[0].weight)
