import torch
import torch.nn as nn
import torch.nn.functional as F


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU())
        self.cls, self.box, self.obj = nn.Conv2d(6, classes, 1), nn.Conv2d(6, 4, 1), nn.Conv2d(6, 1, 1)

    def forward(self, images, targets):
        h = self.backbone(images)
        return {
            "loss_classifier": F.cross_entropy(self.cls(h), targets["labels"]),
            "loss_box_reg": F.smooth_l1_loss(self.box(h), targets["boxes"]),
            "loss_objectness": F.binary_cross_entropy_with_logits(self.obj(h), targets["objectness"]),
        }


def batch(n=2):
    images = torch.rand(n, 3, 8, 8)
    return images, {
        "labels": torch.randint(0, 3, (n, 4, 4)),
        "boxes": torch.rand(n, 4, 4, 4),
        "objectness": torch.rand(n, 1, 4, 4).round(),
    }


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for it in range(2):
    loss_dict = model(*batch())
    optimizer.zero_grad()
    for name, loss in loss_dict.items():
        print(name, loss.item())
    sum(loss_dict.values()).backward()
    optimizer.step()
