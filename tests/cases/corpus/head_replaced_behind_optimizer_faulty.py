"""Fine-tuning that replaces the head behind the optimizer."""

import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.classifier = nn.Linear(8, 10)

    def forward(self, x):
        return self.classifier(self.features(x))


def build(num_classes, lr):
    model = Backbone()
    for p in model.parameters():
        p.requires_grad = False  # warning: [step-without-backward]
    optimizer = torch.optim.SGD(model.classifier.parameters(), lr=lr)
    model.classifier = nn.Linear(8, num_classes)
    return model, optimizer


model, optimizer = build(3, 0.1)
criterion = nn.CrossEntropyLoss()
before = model.classifier.weight.clone()
for epoch in range(3):
    inputs, labels = torch.randn(6, 8), torch.randint(0, 3, (6,))
    optimizer.zero_grad()
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

# torch: torch.equal(before, model.classifier.weight)
