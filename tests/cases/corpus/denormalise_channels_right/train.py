import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from transforms import Denormalize, normalize


class Inpainter(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.enc = nn.Conv2d(4, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.dec = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, image, mask):
        x = torch.cat([image * mask, mask], dim=1)
        x = torch.relu(self.enc(x))
        x = torch.relu(self.mid(x))
        return self.dec(x)


def random_mask(images):
    mask = torch.ones(images.size(0), 1, images.size(2), images.size(3))
    mask[:, :, 2:5, 2:5] = 0
    return mask


def train_epoch(model, loader, optimizer, denormalize):
    total = 0.0
    for (images,) in loader:
        inputs = normalize(images)
        output = model(inputs, random_mask(images))
        restored = torch.stack([denormalize(image) for image in output])
        loss = nn.functional.l1_loss(restored, images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.rand(16, 3, 8, 8)), batch_size=4)
    model = Inpainter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    denormalize = Denormalize()
    for epoch in range(2):
        print(epoch, train_epoch(model, loader, optimizer, denormalize))


if __name__ == "__main__":
    main()
