import torch
from torch import nn

import config
from steps import NativeScaler

cfg = config.load(width=8)
model = nn.Sequential(nn.Linear(6, cfg.width), nn.GELU(), nn.Linear(cfg.width, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
scaler, norms = NativeScaler(cfg.amp), []
for epoch in range(cfg.epochs):
    for x, y in [(torch.rand(4, 6), torch.randint(3, (4,))) for _ in range(3)]:
        with torch.autocast("cpu", enabled=cfg.amp):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        norms.append(scaler(loss, optimizer, clip_grad=cfg.grad_clip, parameters=model.parameters()))
    print(epoch, float(norms[-1]))
