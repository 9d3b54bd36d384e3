"""A training loop that names `zero_grad` and does not call it."""

import torch
import torch.nn as nn


def train(net, trainloader, optimizer, criterion, device):
    net.train()
    train_loss, correct, total = 0, 0, 0
    for batch_idx, (inputs, targets) in enumerate(trainloader):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()  # warning: [missing-zero-grad]
        optimizer.step()
        train_loss += loss.item()
        _, predicted = outputs.max(1)
        total += targets.size(0)
        correct += predicted.eq(targets).sum().item()
    return train_loss / (batch_idx + 1), 100.0 * correct / total


net = nn.Linear(3, 2)
x, t = torch.randn(4, 3), torch.randint(0, 2, (4,))
opt = torch.optim.SGD(net.parameters(), lr=0.0)
train(net, [(x, t)] * 3, opt, nn.CrossEntropyLoss(), "cpu")
total = net.weight.grad.clone()
net.zero_grad()
nn.functional.cross_entropy(net(x), t).backward()

# torch: torch.allclose(total, 3 * net.weight.grad)
