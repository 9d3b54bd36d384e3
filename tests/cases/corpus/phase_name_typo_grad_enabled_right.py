import time

import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, n, transform=None):
        self.items = [(torch.rand(3, 8, 8), i % 2) for i in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        image, label = self.items[idx]
        if self.transform:
            image = self.transform(image)
        return image, label


dataloaders = {x: DataLoader(Faces(8), batch_size=4, shuffle=True) for x in ["training", "validation"]}
dataset_sizes = {x: len(dataloaders[x].dataset) for x in dataloaders}


def train_model(model, criterion, optimizer, scheduler, num_epochs=2):
    since = time.time()
    best_acc = 0.0
    for epoch in range(num_epochs):
        print("Epoch {}/{}".format(epoch, num_epochs - 1))
        for phase in ["training", "validation"]:
            if phase == "training":
                model.train()
            else:
                model.eval()
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "training"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "training":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
            if phase == "training":
                scheduler.step()
            epoch_acc = running_corrects.double() / dataset_sizes[phase]
            if phase == "validation" and epoch_acc > best_acc:
                best_acc = epoch_acc
    print("Training complete in {:.0f}s".format(time.time() - since))
    return model


net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
train_model(net, nn.CrossEntropyLoss(), optimizer, lr_scheduler.StepLR(optimizer, 7, 0.1))
