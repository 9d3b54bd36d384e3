"""Mixed precision with a progress bar, cleared at the wrong place."""

import torch


class Progress:
    def __init__(self, it):
        self.it = it

    def __iter__(self):
        return iter(self.it)

    def set_postfix(self, **kw):
        self.last = kw


def train_one_epoch(model, loader, optimizer, loss_fn, scaler, device):
    loop = Progress(loader)
    for batch_idx, (data, targets) in enumerate(loop):
        data = data.to(device=device)
        targets = targets.float().unsqueeze(1).to(device=device)
        with torch.cuda.amp.autocast():
            predictions = model(data)
            loss = loss_fn(predictions, targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        loop.set_postfix(loss=loss.item())


def main():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    w = model[0].weight.clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    data = [(torch.randn(5, 4), torch.randint(0, 2, (5,))) for _ in range(2)]
    train_one_epoch(model, data, optimizer, torch.nn.BCEWithLogitsLoss(), scaler, "cpu")
    return torch.equal(w, model[0].weight)


same = main()

# torch: not same
