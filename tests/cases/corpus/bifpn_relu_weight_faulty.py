import torch
from torch import nn


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class BiFPN(nn.Module):
    def __init__(self, channels, epsilon=1e-4):
        super().__init__()
        self.epsilon = epsilon
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.w1 = nn.Parameter(torch.ones(2, dtype=torch.float32), requires_grad=True)
        self.w1_relu = nn.ReLU(inplace=True)
        self.swish = Swish()

    def forward(self, inputs):
        low, high = inputs
        w1 = self.w1_relu(self.w1)  # error: [inplace-on-leaf] # raises: RuntimeError "leaf Variable"
        weight = w1 / (torch.sum(w1, dim=0) + self.epsilon)
        fused = self.conv(self.swish(weight[0] * low + weight[1] * self.up(high)))
        return fused, high


class Detector(nn.Module):
    def __init__(self, channels=4, repeats=2):
        super().__init__()
        self.backbone = nn.Conv2d(3, channels, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fpn = nn.Sequential(*(BiFPN(channels) for _ in range(repeats)))
        self.regressor = nn.Linear(channels, 4)

    def forward(self, x):
        low = self.backbone(x)
        low, _ = self.fpn((low, self.pool(low)))
        return self.regressor(low.mean(dim=(2, 3)))


def train(opt):
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), opt["lr"])
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    for epoch in range(opt["num_epochs"]):
        epoch_loss = []
        for _ in range(2):
            imgs, annot = torch.rand(2, 3, 8, 8), torch.rand(2, 4)
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(model(imgs), annot)
            if loss == 0 or not torch.isfinite(loss):
                continue
            loss.backward()
            optimizer.step()
            epoch_loss.append(float(loss))
        scheduler.step(sum(epoch_loss) / max(1, len(epoch_loss)))


train({"lr": 1e-3, "num_epochs": 2})
