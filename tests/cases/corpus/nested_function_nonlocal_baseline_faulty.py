import torch
from torch import nn


def make_trainer(policy, optimizer, beta=0.9):
    baseline = torch.zeros(1)

    def train(states, actions, rewards):
        nonlocal baseline
        log_p = torch.log_softmax(policy(states), -1).gather(1, actions).squeeze(1)
        baseline = beta * baseline + (1 - beta) * (rewards * log_p.exp()).mean()
        advantage = rewards - baseline
        loss = -(log_p * advantage).mean()
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
        return loss.item()

    return train


policy = nn.Linear(4, 3)
train = make_trainer(policy, torch.optim.SGD(policy.parameters(), lr=0.1))
for _ in range(3):
    train(torch.randn(6, 4), torch.randint(0, 3, (6, 1)), torch.rand(6))
