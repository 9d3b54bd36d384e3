import torch
import torch.nn as nn
from torch.optim import lr_scheduler


class TinyResNet(nn.Module):
    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, num_classes)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.layer1(x) + x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def set_parameter_requires_grad(model, feature_extracting):
    if feature_extracting:
        for param in model.parameters():
            param.requires_grad = False


def initialize_model(model_name, num_classes, feature_extract):
    model_ft = None
    if model_name == "resnet":
        model_ft = TinyResNet()
        set_parameter_requires_grad(model_ft, feature_extract)
        num_ftrs = model_ft.fc.in_features
        model_ft.fc = nn.Linear(num_ftrs, num_classes)
    else:
        print("Invalid model name, exiting...")
        exit()
    return model_ft


def train_model(model, dataloaders, criterion, optimizer, num_epochs=2):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train() if phase == "train" else model.eval()
            running_loss = 0.0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    loss = criterion(outputs, labels)
                    _, preds = torch.max(outputs, 1)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
            print("{} Loss: {:.4f}".format(phase, running_loss))
    return model


model_ft = initialize_model("resnet", num_classes=2, feature_extract=True)
params_to_update = model_ft.parameters()
optimizer_ft = torch.optim.SGD(params_to_update, lr=0.001, momentum=0.9)
batches = [(torch.rand(4, 3, 16, 16), torch.randint(0, 2, (4,))) for _ in range(2)]
train_model(model_ft, {"train": batches, "val": batches}, nn.CrossEntropyLoss(), optimizer_ft)
