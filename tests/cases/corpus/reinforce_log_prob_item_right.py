from collections import deque

import numpy as np
import torch
import torch.nn as nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.fc(x), dim=-1)

    def act(self, state):
        state = torch.from_numpy(state).float().unsqueeze(0)
        probs = self.forward(state)
        m = torch.distributions.Categorical(probs)
        action = m.sample()
        return action.item(), m.log_prob(action)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def reinforce(n_episodes=2, max_t=5, gamma=1.0, print_every=1):
    scores_deque = deque(maxlen=100)
    for i_episode in range(1, n_episodes + 1):
        saved_log_probs, rewards = [], []
        state = np.random.rand(4)
        for t in range(max_t):
            action, log_prob = policy.act(state)
            saved_log_probs.append(log_prob)
            state, reward = np.random.rand(4), float(action)
            rewards.append(reward)
        scores_deque.append(sum(rewards))
        discounts = [gamma**i for i in range(len(rewards) + 1)]
        R = sum([a * b for a, b in zip(discounts, rewards)])
        policy_loss = []
        for log_prob in saved_log_probs:
            policy_loss.append(-log_prob * R)
        policy_loss = torch.cat(policy_loss).sum()
        optimizer.zero_grad()
        policy_loss.backward()
        optimizer.step()
        if i_episode % print_every == 0:
            print("Episode {}\tAverage Score: {:.2f}".format(i_episode, np.mean(scores_deque)))


reinforce()
