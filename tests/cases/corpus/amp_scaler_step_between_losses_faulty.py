import torch
import torch.nn as nn

device = "cpu"
shared = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU()).to(device)
head_a, head_b = nn.Linear(12, 3).to(device), nn.Linear(12, 1).to(device)
opt_a = torch.optim.AdamW([*shared.parameters(), *head_a.parameters()], lr=1e-3)
opt_b = torch.optim.AdamW(head_b.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler(device, enabled=False)

for step in range(2):
    x = torch.randn(4, 6)
    ya, yb = torch.randint(0, 3, (4,)), torch.randn(4, 1)
    with torch.autocast(device_type=device, enabled=False):
        h = shared(x)
        loss_a = nn.functional.cross_entropy(head_a(h), ya)
        loss_b = nn.functional.mse_loss(head_b(h), yb)
    opt_a.zero_grad()
    opt_b.zero_grad()
    scaler.scale(loss_a).backward(retain_graph=True)
    scaler.step(opt_a)  # error: [parameter-updated-before-backward]
    scaler.scale(loss_b).backward()  # raises: RuntimeError "modified by an inplace operation"
    scaler.step(opt_b)
    scaler.update()
