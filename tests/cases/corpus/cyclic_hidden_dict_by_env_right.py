"""Recurrent agents in several environments at once."""
import numpy as np
import torch
import torch.nn as nn


class VecEnv:
    def __init__(self, n, length=5):
        self.n, self.length = n, length
        self.t = np.zeros(n, dtype=int)

    def reset(self):
        self.t[:] = 0
        return np.random.randn(self.n, 3).astype("float32")

    def step(self, actions):
        self.t += 1
        done = self.t >= self.length
        self.t[done] = 0
        return np.random.randn(self.n, 3).astype("float32"), (actions == 0).astype("float32"), done


class RecurrentPolicy(nn.Module):
    def __init__(self, hidden=6):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTMCell(3, hidden)
        self.pi, self.v = nn.Linear(hidden, 2), nn.Linear(hidden, 1)

    def initial(self, n):
        return {"h": torch.zeros(n, self.hidden), "c": torch.zeros(n, self.hidden)}

    def forward(self, x, state, done):
        keep = torch.as_tensor(1.0 - done, dtype=torch.float32).unsqueeze(1)
        h, c = self.lstm(x, (state["h"] * keep, state["c"] * keep))
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(1), {"h": h, "c": c}


class Runner:
    def __init__(self, n_envs=3, n_steps=4, gamma=0.99):
        self.env = VecEnv(n_envs)
        self.net = RecurrentPolicy()
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=7e-4)
        self.obs, self.done = self.env.reset(), np.zeros(n_envs)
        self.state = self.net.initial(n_envs)
        self.n_steps, self.gamma = n_steps, gamma

    def rollout(self):
        logps, values, rewards, masks, ents = [], [], [], [], []
        self.state = {k: v.detach() for k, v in self.state.items()}
        for _ in range(self.n_steps):
            dist, value, self.state = self.net(torch.from_numpy(self.obs), self.state, self.done)
            action = dist.sample()
            self.obs, reward, self.done = self.env.step(action.numpy())
            logps.append(dist.log_prob(action))
            ents.append(dist.entropy().mean())
            values.append(value)
            rewards.append(torch.from_numpy(reward))
            masks.append(torch.from_numpy(1.0 - self.done.astype("float32")))
        with torch.no_grad():
            _, ret, _ = self.net(torch.from_numpy(self.obs), self.state, self.done)
        returns = []
        for r, m in zip(reversed(rewards), reversed(masks)):
            ret = r + self.gamma * ret * m
            returns.insert(0, ret)
        return torch.stack(logps), torch.stack(values), torch.stack(returns), torch.stack(ents).mean()

    def update(self):
        logps, values, returns, entropy = self.rollout()
        adv = returns - values
        loss = -(logps * adv.detach()).mean() + 0.5 * adv.pow(2).mean() - 0.01 * entropy
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
        self.opt.step()
        return loss.item()


np.random.seed(0)
torch.manual_seed(0)
runner = Runner()
for update in range(3):
    print(runner.update())
