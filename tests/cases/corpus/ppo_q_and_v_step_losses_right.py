import torch
import torch.nn as nn


class Value(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n, 16), nn.Tanh(), nn.Linear(16, 1))
        self.opt = torch.optim.SGD(self.parameters(), lr=1e-3)

    def forward(self, x):
        return self.layers(x)

    def mse_loss(self, prediction, target):
        return ((prediction - target) ** 2).mean()

    def sgd(self, loss):
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


class Policy(nn.Module):
    def __init__(self, n, m, eps=0.2):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n, 16), nn.Tanh(), nn.Linear(16, m))
        self.eps = eps
        self.opt = torch.optim.SGD(self.parameters(), lr=1e-3, maximize=True)

    def forward(self, x):
        return torch.softmax(self.layers(x), dim=-1)

    def clipped_surrogate(self, pi_new, pi_old, advantage):
        ratio = pi_new / pi_old.detach()
        return torch.min(ratio * advantage, torch.clamp(ratio, 1 - self.eps, 1 + self.eps) * advantage)

    def sga(self, surrogate):
        self.opt.zero_grad()
        surrogate.backward()
        self.opt.step()


policy, V, Q = Policy(4, 2), Value(4), Value(6)
for episode in range(2):
    state = torch.randn(4)
    surrogates = []
    for t in range(5):
        probs = policy(state)
        action = torch.multinomial(probs, 1)
        onehot = torch.nn.functional.one_hot(action.squeeze(), 2).float()
        next_state, reward = torch.randn(4), torch.rand(1)

        v = V(state)
        q = Q(torch.cat([state, onehot]))
        advantage = (q - v).detach()
        surrogates.append(policy.clipped_surrogate(probs[action], probs[action], advantage))

        V.sgd(V.mse_loss(v, reward + 0.99 * V(next_state).detach()))
        Q.sgd(Q.mse_loss(q, reward + 0.99 * V(next_state).detach()))
        state = next_state
    policy.sga(torch.stack(surrogates).mean())
