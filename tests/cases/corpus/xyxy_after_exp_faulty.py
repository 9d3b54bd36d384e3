import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, anchors):
        super().__init__()
        self.register_buffer("anchors", torch.tensor(anchors, dtype=torch.float32))
        self.conv = nn.Conv2d(4, len(anchors) * 5, 1)

    def forward(self, feat):
        b, _, h, w = feat.shape
        p = self.conv(feat).view(b, len(self.anchors), 5, h, w).permute(0, 1, 3, 4, 2)
        xy = torch.sigmoid(p[..., :2])
        wh = torch.exp(p[..., 2:4]) * self.anchors.view(1, -1, 1, 1, 2)
        return torch.cat((xy, wh), -1).reshape(b, -1, 4), p[..., 4].reshape(b, -1)


def to_corners(b):
    half = b[..., 2:]
    half /= 2  # error: [inplace-on-saved]
    return torch.cat((b[..., :2] - half, b[..., :2] + half), -1)


def giou(a, b):
    lt = torch.max(a[..., :2], b[..., :2])
    rb = torch.min(a[..., 2:], b[..., 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda z: (z[..., 2:] - z[..., :2]).clamp(min=0).prod(-1)
    union = area(a) + area(b) - inter + 1e-7
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).clamp(min=0).prod(-1) + 1e-7
    return inter / union - (hull - union) / hull


class DetectionLoss(nn.Module):
    def __init__(self, obj=1.0, size=0.2):
        super().__init__()
        self.obj = obj
        self.size = size
        self.bce = nn.BCEWithLogitsLoss()

    def forward(self, boxes, logits, gt):
        size = boxes[..., 2:].log().abs().mean()
        iou = giou(to_corners(boxes), to_corners(gt.clone()))
        return (1 - iou).mean() + self.obj * self.bce(logits, (iou.detach() > 0).float()) + self.size * size


torch.manual_seed(0)
head = Head([(0.2, 0.3), (0.5, 0.4)])
criterion = DetectionLoss()
opt = torch.optim.SGD(head.parameters(), lr=1e-2, momentum=0.9)
for it in range(3):
    feat = torch.randn(2, 4, 3, 3)
    gt = torch.rand(2, 18, 4)
    boxes, logits = head(feat)
    loss = criterion(boxes, logits, gt)
    opt.zero_grad()
    loss.backward()  # raises: RuntimeError
    opt.step()
