import torch
import torch.nn as nn
import torch.nn.functional as F


class ActorCritic(nn.Module):
    def __init__(self, num_inputs, num_actions):
        super().__init__()
        self.lstm = nn.LSTMCell(num_inputs, 16)
        self.critic_linear = nn.Linear(16, 1)
        self.actor_linear = nn.Linear(16, num_actions)

    def forward(self, inputs):
        x, (hx, cx) = inputs
        hx, cx = self.lstm(x, (hx, cx))
        return self.critic_linear(hx), self.actor_linear(hx), (hx, cx)


class Env:
    def __init__(self, length=12):
        self.length, self.t = length, 0

    def reset(self):
        self.t = 0
        return torch.rand(4)

    def step(self, action):
        self.t += 1
        return torch.rand(4), float(action == 1), self.t % self.length == 0, {}


def train(rank, num_steps=5, updates=3):
    torch.manual_seed(rank)
    env = Env()
    model = ActorCritic(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    model.train()
    state = env.reset()
    done = True
    episode_length = 0
    for update in range(updates):
        if done:
            cx = torch.zeros(1, 16)
            hx = torch.zeros(1, 16)
        else:
            cx = cx.detach()
            hx = hx.detach()
        values, log_probs, rewards, entropies = [], [], [], []
        for step in range(num_steps):
            episode_length += 1
            value, logit, (hx, cx) = model((state.unsqueeze(0), (hx, cx)))
            prob = F.softmax(logit, dim=-1)
            log_prob = F.log_softmax(logit, dim=-1)
            entropies.append(-(log_prob * prob).sum(1, keepdim=True))
            action = prob.multinomial(num_samples=1).detach()
            log_probs.append(log_prob.gather(1, action))
            state, reward, done, _ = env.step(action.item())
            values.append(value)
            rewards.append(reward)
            if done:
                state = env.reset()
                break
        R = torch.zeros(1, 1)
        if not done:
            value, _, _ = model((state.unsqueeze(0), (hx, cx)))
            R = value.detach()
        values.append(R)
        policy_loss, value_loss, gae = 0, 0, torch.zeros(1, 1)
        for i in reversed(range(len(rewards))):
            R = 0.99 * R + rewards[i]
            advantage = R - values[i]
            value_loss = value_loss + 0.5 * advantage.pow(2)
            delta_t = rewards[i] + 0.99 * values[i + 1] - values[i]
            gae = gae * 0.99 + delta_t
            policy_loss = policy_loss - log_probs[i] * gae.detach() - 0.01 * entropies[i]
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 50)
        optimizer.step()


train(1)
