"""Mixed-precision training with a reconstruction and a classification loss."""

import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


class SemiSupervised(nn.Module):
    def __init__(self, dim=10, latent=5, classes=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, dim))
        self.classifier = nn.Linear(latent, classes)

    def forward(self, x):
        z = self.encoder(x)
        return self.decoder(z), self.classifier(z)


class AMPTrainer:
    def __init__(self, model, lr, device="cpu"):
        self.model = model
        self.device = device
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scaler = GradScaler(device)
        self.rec_loss = nn.MSELoss()
        self.cls_loss = nn.CrossEntropyLoss()

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        with autocast(self.device, dtype=torch.bfloat16):
            reconstruction, logits = self.model(x)
            rec = self.rec_loss(reconstruction, x)
            cls = self.cls_loss(logits, y)
        self.scaler.scale(rec + cls).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return rec.item(), cls.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            rows = [self.train_step(x.to(self.device), y.to(self.device)) for x, y in loader]
            rec, cls = (sum(column) / len(rows) for column in zip(*rows))
            print(f"epoch {epoch}: reconstruction {rec:.4f}, classification {cls:.4f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(32, 10), torch.randint(0, 3, (32,))), batch_size=8)
    AMPTrainer(SemiSupervised(), lr=1e-3).fit(loader, epochs=2)


if __name__ == "__main__":
    main()
