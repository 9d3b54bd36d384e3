"""Accumulated gradients that are stepped with and never cleared."""

import torch


def train_accum(model, dataloader, optimizer, scheduler, criterion, grad_accum, max_norm, device):
    model.train()
    running, n_updates = 0.0, 0
    for i, batch in enumerate(dataloader):
        x, y = (t.to(device) for t in batch)
        loss = criterion(model(x), y) / grad_accum
        loss.backward()  # warning: [missing-zero-grad]
        running += loss.item()
        if (i + 1) % grad_accum == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            scheduler.step()
            n_updates += 1
    return running / max(n_updates, 1)


from torch import nn

m = nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
train_accum(m, [(torch.randn(2, 3), torch.randn(2, 1)) for _ in range(8)], o, torch.optim.lr_scheduler.StepLR(o, 1), nn.MSELoss(), 2, 1e9, "cpu")

# torch: m.weight.grad is not None and m.weight.grad.abs().sum() > 0
