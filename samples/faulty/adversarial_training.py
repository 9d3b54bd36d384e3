"""Adversarial training: the classifier learns on inputs perturbed by projected gradient descent."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc1 = nn.Linear(6 * 3 * 3, 24)
        self.fc2 = nn.Linear(24, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


class PGDAttack:
    def __init__(self, model, epsilon=0.1, alpha=0.03, steps=3):
        self.model = model
        self.epsilon = epsilon
        self.alpha = alpha
        self.steps = steps

    def perturb(self, images, labels):
        adv = images.clone().detach() + torch.empty_like(images).uniform_(-self.epsilon, self.epsilon)
        for _ in range(self.steps):
            adv.requires_grad_(True)
            loss = F.nll_loss(self.model(adv), labels)
            (grad,) = torch.autograd.grad(loss, adv)
            adv += self.alpha * grad.sign()
            delta = torch.clamp(adv - images, -self.epsilon, self.epsilon)
            adv = torch.clamp(images + delta, 0, 1).detach()
        return adv


def train(args, model, attack, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        adv_data = attack.perturb(data, target)
        optimizer.zero_grad()
        loss = F.nll_loss(model(adv_data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            seen = batch_idx * len(data)
            print(f"Train Epoch: {epoch} [{seen}/{len(train_loader.dataset)}]\tLoss: {loss.item():.6f}")


def test(model, attack, device, test_loader):
    model.eval()
    clean, robust = 0, 0
    for data, target in test_loader:
        data, target = data.to(device), target.to(device)
        adv_data = attack.perturb(data, target)
        with torch.no_grad():
            clean += model(data).argmax(1).eq(target).sum().item()
            robust += model(adv_data).argmax(1).eq(target).sum().item()
    print(f"Test set: clean {clean}/{len(test_loader.dataset)}, robust {robust}/{len(test_loader.dataset)}")


def main():
    parser = argparse.ArgumentParser(description="PyTorch adversarial training example")
    parser.add_argument("--epochs", type=int, default=1, metavar="N")
    parser.add_argument("--batch-size", type=int, default=16, metavar="N")
    parser.add_argument("--lr", type=float, default=0.05, metavar="LR")
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--log-interval", type=int, default=2, metavar="N")
    args = parser.parse_args()

    torch.manual_seed(7)
    device = torch.device("cpu")
    dataset = TensorDataset(torch.rand(64, 1, 8, 8), torch.randint(0, 3, (64,)))
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    model = Net().to(device)
    attack = PGDAttack(model, epsilon=args.epsilon)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(1, args.epochs + 1):
        train(args, model, attack, device, loader, optimizer, epoch)
        test(model, attack, device, loader)


if __name__ == "__main__":
    main()
