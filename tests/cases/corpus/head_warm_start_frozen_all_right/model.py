from torch import nn

from backbones import create


class Finetuned(nn.Module):
    def __init__(self, name, classes, tune_backbone=False):
        super().__init__()
        self.backbone, width = create(name)
        if not tune_backbone:
            self.freeze()
        self.head = nn.Linear(width, classes)

    def freeze(self):
        for name, p in self.named_parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.head(self.backbone(x))
