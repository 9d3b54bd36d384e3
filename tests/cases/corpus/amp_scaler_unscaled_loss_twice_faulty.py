import torch
from torch import nn
from torch.amp import GradScaler, autocast


class LSeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 4, 3, padding=1)
        self.dec = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.dec(torch.relu(self.enc(x)))


class Trainer:
    def __init__(self, model, device="cpu", use_amp=False):
        self.model, self.device = model.to(device), device
        self.scaler = GradScaler(device, enabled=use_amp)
        self.use_amp = use_amp

    def train(self, cur_epoch, optim, train_loader, scheduler=None):
        criterion = nn.CrossEntropyLoss(ignore_index=-1)
        self.model.train()
        for cur_step, (images, labels) in enumerate(train_loader):
            images = images.to(self.device, dtype=torch.float32)
            labels = labels.to(self.device, dtype=torch.long)
            optim.zero_grad()
            with autocast(device_type=self.device, enabled=self.use_amp):
                outputs = self.model(images)
                loss = criterion(outputs, labels)
            self.scaler.scale(loss).backward()
            loss.backward()  # error: [double-backward] # raises: RuntimeError "second time"
            self.scaler.step(optim)
            self.scaler.update()
            if scheduler is not None:
                scheduler.step()
            print(cur_epoch, cur_step, loss.item())


net = LSeg()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
lr_sched = torch.optim.lr_scheduler.PolynomialLR(optimizer, 10)
data = [(torch.rand(2, 3, 6, 6), torch.randint(0, 2, (2, 6, 6))) for _ in range(2)]
Trainer(net).train(0, optimizer, data, lr_sched)
