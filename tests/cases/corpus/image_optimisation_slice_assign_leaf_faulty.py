import torch
import torch.nn as nn

torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 1, 3)).eval()
for p in cnn.parameters():
    p.requires_grad_(False)

image = torch.rand(1, 3, 12, 12)
patch = torch.full((1, 3, 4, 4), 0.5, requires_grad=True)
optimizer = torch.optim.Adam([patch], lr=0.05)
canvas = image.clone()
for i in range(4):
    canvas[:, :, 2:6, 2:6] = patch
    score = cnn(canvas).pow(2).mean()
    optimizer.zero_grad()
    (-score).backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
    with torch.no_grad():
        patch.clamp_(0, 1)
