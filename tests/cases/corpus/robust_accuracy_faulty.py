"""How much accuracy is left under the fast gradient sign attack?"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class CNN(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 6, 3),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Linear(6, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


def fgsm_attack(image, epsilon, data_grad):
    perturbed = image + epsilon * data_grad.sign()
    return torch.clamp(perturbed, 0, 1)


def make_adversarial(model, criterion, images, labels, epsilon):
    images = images.clone().detach()
    images.requires_grad = True
    loss = criterion(model(images), labels)
    model.zero_grad()
    loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
    return fgsm_attack(images, epsilon, images.grad).detach()


def train(model, loader, criterion, optimizer):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
    return loss.item()


def robust_accuracy(model, loader, criterion, epsilon):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            adversarial = make_adversarial(model, criterion, images, labels, epsilon)
            correct += (model(adversarial).argmax(1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.rand(30, 1, 8, 8), torch.randint(0, 3, (30,))), batch_size=10)
    model = CNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        print(f"epoch {epoch}: loss {train(model, loader, criterion, optimizer):.4f}")
    for epsilon in (0.0, 0.05, 0.1):
        print(f"epsilon {epsilon}: {robust_accuracy(model, loader, criterion, epsilon):.2%}")


if __name__ == "__main__":
    main()
