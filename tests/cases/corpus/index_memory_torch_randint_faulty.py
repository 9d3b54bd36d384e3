import torch
import torch.nn as nn
import torch.nn.functional as F


class RolloutBuffer(object):
    def __init__(self):
        self.clear()

    def clear(self):
        self.states, self.actions, self.logprobs, self.rewards, self.values = [], [], [], [], []


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, 16), nn.Tanh(), nn.Linear(16, act), nn.Softmax(dim=-1))
        self.critic = nn.Sequential(nn.Linear(obs, 16), nn.Tanh(), nn.Linear(16, 1))

    def act(self, state):
        dist = torch.distributions.Categorical(self.actor(state))
        action = dist.sample()
        return action.detach(), dist.log_prob(action), self.critic(state)

    def evaluate(self, state, action):
        dist = torch.distributions.Categorical(self.actor(state))
        return dist.log_prob(action), self.critic(state), dist.entropy()


class PPO:
    def __init__(self, obs, act, k_epochs=3, eps_clip=0.2):
        self.policy = ActorCritic(obs, act)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=3e-4)
        self.buffer = RolloutBuffer()
        self.K_epochs, self.eps_clip = k_epochs, eps_clip

    def select_action(self, state):
        action, logprob, value = self.policy.act(state)
        self.buffer.states.append(state)
        self.buffer.actions.append(action)
        self.buffer.logprobs.append(logprob)
        self.buffer.values.append(value)
        return action.item()

    def update(self):
        rewards, discounted = [], 0
        for r in reversed(self.buffer.rewards):
            discounted = r + 0.99 * discounted
            rewards.insert(0, discounted)
        rewards = torch.tensor(rewards, dtype=torch.float32)
        old_states = torch.stack(self.buffer.states)
        old_actions = torch.stack(self.buffer.actions)
        old_logprobs = torch.stack(self.buffer.logprobs)
        advantages = rewards - torch.cat(self.buffer.values)
        for _ in range(self.K_epochs):
            logprobs, values, entropy = self.policy.evaluate(old_states, old_actions)
            ratios = torch.exp(logprobs - old_logprobs)
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * F.mse_loss(values.squeeze(-1), rewards) - 0.01 * entropy
            self.optimizer.zero_grad()
            loss.mean().backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            self.optimizer.step()
        self.buffer.clear()


agent = PPO(4, 2)
for episode in range(2):
    for t in range(5):
        a = agent.select_action(torch.rand(4))
        agent.buffer.rewards.append(float(a))
    agent.update()
