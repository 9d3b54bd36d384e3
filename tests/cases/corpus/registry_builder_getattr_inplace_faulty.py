import torch
from torch import nn

MODELS = {}


def register(name=None):
    def wrap(cls):
        MODELS[name or cls.__name__] = cls
        return cls

    return wrap


def build_from_cfg(cfg, registry):
    args = cfg.copy()
    obj_type = args.pop("type")
    return registry[obj_type](**args)


@register()
class ConvModule(nn.Module):
    def __init__(self, cin, cout, act_cfg=None):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 3, padding=1)
        act_cfg = dict(act_cfg or {"type": "ReLU"})
        self.act = getattr(nn, act_cfg.pop("type"))(**act_cfg)

    def forward(self, x):
        return self.act(self.conv(x))


@register("se")
class SELayer(nn.Module):
    def __init__(self, channels, act_cfg):
        super().__init__()
        self.fc = nn.Linear(channels, channels)
        self.act = getattr(nn, act_cfg["type"])()
        self.out = nn.LeakyReLU(inplace=True)

    def forward(self, x):
        y = self.act(self.fc(x.mean(-1)))
        scaled = x * y.unsqueeze(-1)
        return scaled + self.out(y).unsqueeze(-1)  # error: [inplace-on-saved]


@register()
class Detector(nn.Module):
    def __init__(self, backbone, neck, num_classes):
        super().__init__()
        self.backbone = build_from_cfg(backbone, MODELS)
        self.neck = build_from_cfg(neck, MODELS)
        self.cls = nn.Conv1d(4, num_classes, 1)

    def forward_train(self, img, gt):
        feat = self.neck(self.backbone(img))
        return dict(loss_cls=nn.functional.cross_entropy(self.cls(feat).mean(-1), gt))


cfg = dict(
    type="Detector",
    backbone=dict(type="ConvModule", cin=3, cout=4, act_cfg=dict(type="ReLU", inplace=True)),
    neck=dict(type="se", channels=4, act_cfg=dict(type="Sigmoid")),
    num_classes=3,
)
model = build_from_cfg(cfg, MODELS)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for _ in range(2):
    losses = model.forward_train(torch.randn(2, 3, 6), torch.randint(0, 3, (2,)))
    loss = sum(v for k, v in losses.items() if "loss" in k)
    optimizer.zero_grad()
    loss.backward()  # raises: RuntimeError "modified by an inplace operation"
    optimizer.step()
