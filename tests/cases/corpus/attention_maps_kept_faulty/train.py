import torch
from torch import nn
from vit import ViT

torch.manual_seed(0)
model = ViT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(2):
    model.train()
    for _ in range(4):
        x, y = torch.randn(6, 4, 5), torch.randint(0, 3, (6,))
        loss = criterion(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
maps = model.blocks[0].attn.maps
print(len(maps), maps[-1].shape)
# torch: all(m.grad_fn is not None for m in maps)
