import torch
import torch.nn as nn


class MultiHeadEncoder(nn.Module):
    """Encodes boxes given as (x1, y1, x2, y2) and predicts refined boxes."""

    def __init__(self, hidden=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, 4))

    def forward(self, boxes, image_size):
        deltas = self.encoder(boxes)
        pred = boxes + deltas
        return self.clip_boxes(pred, image_size)

    def clip_boxes(self, pred, image_size):
        h, w = image_size
        x1, y1, x2, y2 = pred.unbind(dim=1)
        x1.clamp_(min=0, max=w)  # error: [inplace-on-view] # raises: RuntimeError "modified inplace"
        y1.clamp_(min=0, max=h)
        x2.clamp_(min=0, max=w)
        y2.clamp_(min=0, max=h)
        return torch.stack([x1, y1, x2, y2], dim=1)


def main():
    torch.manual_seed(0)
    model = MultiHeadEncoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    criterion = nn.SmoothL1Loss()
    for it in range(3):
        boxes, gt = torch.rand(6, 4) * 10, torch.rand(6, 4) * 10
        pred = model(boxes, (10, 10))
        loss = criterion(pred, gt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 1 == 0:
            print("iter {} loss {:.4f}".format(it, loss.item()))


main()
