import copy
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class DQN(nn.Module):
    def __init__(self, n_observations=3, n_actions=2):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 24)
        self.layer2 = nn.Linear(24, 24)
        self.layer3 = nn.Linear(24, n_actions)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


class DQNAgent:
    def __init__(self, gamma=0.95, tau=0.01, batch_size=8):
        self.policy_net = DQN()
        self.target_net = copy.deepcopy(self.policy_net)
        self.optimizer = torch.optim.AdamW(self.policy_net.parameters(), lr=1e-3, amsgrad=True)
        self.memory = deque([], maxlen=200)
        self.gamma, self.tau, self.batch_size = gamma, tau, batch_size

    def select_action(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.policy_net(state).argmax().item()

    def optimize(self):
        if len(self.memory) < self.batch_size:
            return None
        batch = Transition(*zip(*random.sample(self.memory, self.batch_size)))
        states, next_states = torch.stack(batch.state), torch.stack(batch.next_state)
        actions = torch.tensor(batch.action).unsqueeze(1)
        rewards, done = torch.tensor(batch.reward), torch.tensor(batch.done)
        q = self.policy_net(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            expected = rewards + self.gamma * self.target_net(next_states).max(1).values * (~done)
        loss = F.smooth_l1_loss(q, expected)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.policy_net.parameters(), 100)
        self.optimizer.step()
        self.update_target()
        return loss.item()

    def update_target(self):
        for target, online in zip(self.target_net.parameters(), self.policy_net.parameters()):
            target.mul_(1 - self.tau)  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
            target.add_(self.tau * online)


def play(agent, episodes=3, steps=10):
    for episode in range(episodes):
        state, losses = torch.randn(3), []
        for t in range(steps):
            action = agent.select_action(state, epsilon=0.2)
            next_state = torch.randn(3)
            reward = 1.0 if (state.sum() > 0) == bool(action) else 0.0
            agent.memory.append(Transition(state, action, reward, next_state, t == steps - 1))
            loss = agent.optimize()
            if loss is not None:
                losses.append(loss)
            state = next_state
        print(f"episode {episode}: {len(losses)} updates")


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    play(DQNAgent())
