import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, optimizer, scaler, accumulation, device="cpu"):
    optimizer.zero_grad(set_to_none=True)
    pending = 0
    total = torch.zeros((), device=device)
    for i, (x, y) in enumerate(loader, 1):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=False):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss / accumulation).backward()
        total += loss.detach()
        pending += 1
        if i % accumulation and i != len(loader):
            continue
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        pending = 0
    return total.item() / i, pending


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
data = DataLoader(TensorDataset(torch.randn(14, 4), torch.randint(3, (14,))), batch_size=2)
scaler = torch.amp.GradScaler("cpu", enabled=False)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(2):
    print(train_epoch(model, data, optimizer, scaler, 3))
