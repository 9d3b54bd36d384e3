import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    """Images with one bright rectangle and its mask."""

    def __init__(self, size=24, side=10):
        self.size, self.side = size, side

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        mask = torch.zeros(1, self.side, self.side)
        top, left = torch.randint(0, self.side - 4, (2,), generator=generator).tolist()
        mask[:, top : top + 4, left : left + 4] = 1.0
        image = mask + 0.2 * torch.randn(1, self.side, self.side, generator=generator)
        return image, mask


class SegNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.decoder = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, targets):
        predictions = torch.sigmoid(logits)
        intersection = (predictions * targets).sum(dim=(1, 2, 3))
        total = predictions.sum(dim=(1, 2, 3)) + targets.sum(dim=(1, 2, 3))
        dice = (2.0 * intersection + self.smooth) / (total + self.smooth)
        return 1 - dice.mean()


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    losses = []
    for images, masks in loader:
        images, masks = images.to(device), masks.to(device)
        outputs = model(images)
        loss = criterion(outputs, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def iou(model, loader, device):
    model.eval()
    hit = union = 0.0
    with torch.no_grad():
        for images, masks in loader:
            predicted = model(images.to(device)) > 0
            truth = masks.to(device) > 0.5
            hit += (predicted & truth).sum().item()
            union += (predicted | truth).sum().item()
    return hit / max(union, 1.0)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Blobs(), batch_size=6, shuffle=True)
    model = SegNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        mean_loss = train_one_epoch(model, loader, DiceLoss(), optimizer, device)
        print(f"epoch {epoch}: dice loss {mean_loss:.4f}, IoU {iou(model, loader, device):.3f}")
