import argparse

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


class SmallResNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(6)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(6, num_classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(x + self.bn2(self.conv2(x)))
        return self.fc(torch.flatten(self.pool(x), 1))


def set_parameter_requires_grad(model, feature_extracting):
    if feature_extracting:
        for param in model.parameters():
            param.requires_grad = False


def initialize_model(num_classes, feature_extract=True):
    model_ft = SmallResNet()
    num_ftrs = model_ft.fc.in_features
    model_ft.fc = nn.Linear(num_ftrs, num_classes)
    set_parameter_requires_grad(model_ft, feature_extract)
    return model_ft


def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (outputs.argmax(1) == labels).sum().item()
            if phase == "train":
                scheduler.step()
            size = len(dataloaders[phase].dataset)
            print(f"{epoch} {phase} Loss: {running_loss / size:.4f} Acc: {running_corrects / size:.4f}")
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-classes", type=int, default=3)
    parser.add_argument("--num-epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)

    def dataset(n):
        return TensorDataset(torch.randn(n, 3, 8, 8), torch.randint(0, args.num_classes, (n,)))

    dataloaders = {
        "train": DataLoader(dataset(24), batch_size=8, shuffle=True),
        "val": DataLoader(dataset(8), batch_size=8),
    }
    model_ft = initialize_model(args.num_classes)
    optimizer_ft = optim.SGD(model_ft.fc.parameters(), lr=0.001, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=1, gamma=0.1)
    train_model(model_ft, dataloaders, nn.CrossEntropyLoss(), optimizer_ft, scheduler, args.num_epochs)


if __name__ == "__main__":
    main()
