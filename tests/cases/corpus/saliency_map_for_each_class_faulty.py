import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def saliency(model, image, labels):
    image = image.clone().requires_grad_(True)
    scores = model(image)
    maps = {}
    for index, name in enumerate(labels):
        model.zero_grad()
        scores[0, index].backward()  # error: [carried-graph] # raises: RuntimeError "second time"
        maps[name] = image.grad.abs().amax(dim=1).squeeze(0).clone()
        image.grad.zero_()
    return maps


model = Net().eval()
maps = saliency(model, torch.rand(1, 1, 6, 6), ["cat", "dog", "owl"])
for name, values in maps.items():
    print(name, values.max().item())
