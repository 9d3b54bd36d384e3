import torch
import torch.nn as nn


class SqueezeExcite(nn.Module):
    def __init__(self, channels, ratio=2):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down = nn.Conv2d(channels, channels // ratio, 1)
        self.up = nn.Conv2d(channels // ratio, channels, 1)

    def forward(self, x):
        gate = torch.sigmoid(self.up(torch.relu(self.down(self.pool(x)))))
        gate *= 2.0  # error: [inplace-on-saved]
        return x * gate


class Stage(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1)
        self.norm = nn.BatchNorm2d(c_out)
        self.se = SqueezeExcite(c_out)

    def forward(self, x):
        return self.se(torch.relu(self.norm(self.conv(x))))


class TinyNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stages = nn.Sequential(Stage(3, 8), nn.MaxPool2d(2), Stage(8, 8))
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.stages(x).mean(dim=(2, 3)))


def main():
    net = TinyNet()
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=3)
    for step in range(3):
        images, labels = torch.rand(4, 3, 8, 8), torch.randint(0, 4, (4,))
        loss = loss_fn(net(images), labels)
        opt.zero_grad(set_to_none=True)
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        opt.step()
        scheduler.step()
        print(step, round(loss.item(), 3), scheduler.get_last_lr())


if __name__ == "__main__":
    main()
