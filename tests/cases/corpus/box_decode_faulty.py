import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GRID, ANCHORS = 4, ((1.0, 1.0), (2.0, 0.5))


class Detector(nn.Module):
    """One-scale detector: per cell and anchor (x, y, w, h, objectness)."""

    def __init__(self, width=8):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1),
            nn.SiLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1),
            nn.SiLU(inplace=True),
        )
        self.head = nn.Conv2d(width, len(ANCHORS) * 5, 1)
        ys, xs = torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="ij")
        self.register_buffer("grid", torch.stack([xs, ys], dim=-1).float())
        self.register_buffer("anchors", torch.tensor(ANCHORS).view(1, len(ANCHORS), 1, 1, 2))

    def forward(self, images):
        out = self.head(self.backbone(images))
        b = out.size(0)
        out = out.view(b, len(ANCHORS), 5, GRID, GRID).permute(0, 1, 3, 4, 2).contiguous()
        return self.decode(out)

    def decode(self, pred):
        pred = pred.sigmoid()
        pred[..., 0:2] = pred[..., 0:2] * 2 - 0.5 + self.grid  # error: [inplace-on-saved]
        pred[..., 2:4] = (pred[..., 2:4] * 2) ** 2 * self.anchors
        return pred


class OneBox(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(3, GRID * 2, GRID * 2, generator=generator)
        cell = torch.randint(0, GRID, (2,), generator=generator)
        box = torch.cat([cell.float() + 0.5, torch.rand(2, generator=generator) + 0.5])
        return image, box, cell


def detection_loss(pred, boxes, cells):
    batch = torch.arange(len(boxes))
    responsible = pred[batch, 0, cells[:, 1], cells[:, 0]]
    box_loss = F.smooth_l1_loss(responsible[:, :4], boxes)
    objectness = torch.zeros_like(pred[..., 4])
    objectness[batch, 0, cells[:, 1], cells[:, 0]] = 1.0
    return box_loss + F.binary_cross_entropy(pred[..., 4], objectness)


def train(model, loader, optimizer, epochs=2):
    for epoch in range(epochs):
        for images, boxes, cells in loader:
            loss = detection_loss(model(images), boxes, cells)
            optimizer.zero_grad()
            loss.backward()  # raises: RuntimeError "modified by an inplace operation"
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Detector()
    train(model, DataLoader(OneBox(), batch_size=4), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
