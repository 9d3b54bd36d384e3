import torch
import torch.nn as nn


def freeze(m):
    for p in m.parameters():
        p.requires_grad = False


def freeze_bn(m):
    if isinstance(m, nn.BatchNorm2d):
        m.eval()
        freeze(m)


net = nn.Sequential(
    nn.Conv2d(3, 4, 3),
    nn.BatchNorm2d(4),
    nn.ReLU(inplace=True),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(4, 2),
)
net.apply(freeze_bn)
optimizer = torch.optim.SGD([p for p in net.parameters()], lr=0.1)
for images, labels in zip(torch.rand(2, 4, 3, 8, 8), torch.randint(0, 2, (2, 4))):
    loss = nn.CrossEntropyLoss()(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
