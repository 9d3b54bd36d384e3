import torch
import torch.nn as nn

try:
    from tqdm import tqdm
except ImportError:
    class tqdm(list):
        def __init__(self, items, **kwargs):
            super().__init__(items)

        def set_postfix(self, **kwargs):
            pass


class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def train_fn(data_loader, model, criterion, optimizer, device, scheduler=None, accumulation_steps=2):
    model.train()
    losses = AverageMeter()
    tk0 = tqdm(data_loader, total=len(data_loader), disable=True)
    for bi, d in enumerate(tk0):
        ids = d["ids"].to(device, dtype=torch.long)
        mask = d["mask"].to(device, dtype=torch.float)
        targets = d["targets"].to(device, dtype=torch.float)
        outputs = model(ids, mask)
        loss = criterion(outputs, targets.view(-1, 1))
        loss = loss / accumulation_steps
        loss.backward()  # warning: [missing-zero-grad]
        if (bi + 1) % accumulation_steps == 0:
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
        losses.update(loss.item() * accumulation_steps, ids.size(0))
        tk0.set_postfix(loss=losses.avg)
    return losses.avg


def eval_fn(data_loader, model, device):
    model.eval()
    fin = []
    with torch.no_grad():
        for d in data_loader:
            out = model(d["ids"].to(device), d["mask"].to(device))
            fin.extend(torch.sigmoid(out).cpu().numpy().tolist())
    return fin


class Bag(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, ids, mask):
        e = self.emb(ids) * mask.unsqueeze(-1)
        return self.out(e.sum(1) / mask.sum(1, keepdim=True))


def run():
    torch.manual_seed(0)
    data = [{"ids": torch.randint(0, 20, (4, 6)), "mask": torch.ones(4, 6), "targets": torch.randint(0, 2, (4,))} for _ in range(6)]
    model = Bag(20)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for epoch in range(2):
        train_fn(data, model, nn.BCEWithLogitsLoss(), optimizer, "cpu", scheduler)
        eval_fn(data, model, "cpu")
    return model


if __name__ == "__main__":
    model = run()

# torch: model.out.bias.grad is not None
