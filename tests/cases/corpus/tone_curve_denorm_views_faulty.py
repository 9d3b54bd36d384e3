import torch
from torch import nn


class UnNormalize(object):
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        for t, m, s in zip(tensor, self.mean, self.std):
            t.mul_(s).add_(m)  # error: [inplace-on-view] # raises: RuntimeError "modified inplace"
        return tensor


class Enhancer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 3, 3, padding=1), nn.Tanh())

    def forward(self, x):
        return x + self.net(x)


class ColorLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.denorm = UnNormalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

    def forward(self, enhanced):
        loss = 0
        for image in enhanced:
            rgb = self.denorm(image)
            r, g, b = torch.split(rgb.mean(dim=(1, 2)), 1)
            loss = loss + (r - g) ** 2 + (r - b) ** 2 + (b - g) ** 2
        return (loss / len(enhanced)).mean()


def train(config):
    net, color = Enhancer(), ColorLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=config.get("lr", 1e-4), weight_decay=1e-4)
    for epoch in range(config["num_epochs"]):
        for iteration in range(2):
            low = torch.randn(2, 3, 8, 8)
            enhanced = net(low)
            loss = color(enhanced) + 0.1 * torch.mean((enhanced - low) ** 2)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            optimizer.step()
    return net


train({"num_epochs": 1})
