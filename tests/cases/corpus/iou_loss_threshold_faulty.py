import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader, random_split


class Blobs(Dataset):
    def __init__(self, n=8):
        self.images = torch.rand(n, 1, 8, 8)
        self.masks = (self.images > 0.5).float()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return {"image": self.images[idx], "mask": self.masks[idx]}


class DoubleConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, padding=1),
            nn.BatchNorm2d(c_out),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self, features=(4, 8)):
        super().__init__()
        self.downs, self.ups = nn.ModuleList(), nn.ModuleList()
        self.pool = nn.MaxPool2d(2, 2)
        c = 1
        for f in features:
            self.downs.append(DoubleConv(c, f))
            c = f
        for f in reversed(features):
            self.ups.append(nn.ConvTranspose2d(f * 2, f, 2, 2))
            self.ups.append(DoubleConv(f * 2, f))
        self.bottleneck = DoubleConv(features[-1], features[-1] * 2)
        self.final = nn.Conv2d(features[0], 1, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottleneck(x)
        skips = skips[::-1]
        for idx in range(0, len(self.ups), 2):
            x = self.ups[idx](x)
            x = self.ups[idx + 1](torch.cat((skips[idx // 2], x), dim=1))
        return self.final(x)


class IoULoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, targets):
        preds = (torch.sigmoid(logits) > 0.5).float().view(-1)
        targets = targets.view(-1)
        intersection = (preds * targets).sum()
        union = preds.sum() + targets.sum() - intersection
        return 1 - (intersection + self.smooth) / (union + self.smooth)


def train_fn(loader, model, optimizer, loss_fn):
    for batch_idx, batch in enumerate(loader):
        data, targets = batch["image"], batch["mask"]
        predictions = model(data)
        loss = loss_fn(predictions, targets)
        optimizer.zero_grad()
        loss.backward()  # warning: [detached-loss] # raises: RuntimeError "not require grad"
        optimizer.step()
        print(batch_idx, loss.item())


def main():
    train_set, val_set = random_split(Blobs(), [6, 2])
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1):
        train_fn(DataLoader(train_set, batch_size=3, shuffle=True), model, optimizer, IoULoss())


if __name__ == "__main__":
    main()
