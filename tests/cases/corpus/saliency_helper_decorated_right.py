import functools

import torch
from torch import nn


def evaluation(function):
    @functools.wraps(function)
    def wrapper(model, *args, **kwargs):
        was = model.training
        model.eval()
        result = function(model, *args, **kwargs)
        model.train(was)
        return result

    return wrapper


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Linear(16, 3)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


@evaluation
def saliency(model, image, target):
    image = image.clone().requires_grad_(True)
    score = model(image)[:, target].sum()
    score.backward()
    return image.grad.abs().max(dim=1).values


def fit(model, batches):
    opt = torch.optim.Adam(model.parameters())
    for x, y in batches:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()


if __name__ == "__main__":
    net = CNN()
    fit(net, [(torch.rand(4, 1, 6, 6), torch.randint(0, 3, (4,))) for _ in range(2)])
    maps = saliency(net, torch.rand(2, 1, 6, 6), target=1)
    print(maps.shape)
