"""Binary classification of rare events with a focal loss."""

import torch
from criteria import build_criterion
from data import rare_event_loader
from models.mlp import MLP


class Engine:
    def __init__(self, model, criterion, optimizer, scheduler=None):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.global_step = 0

    def train_step(self, batch):
        inputs, labels = batch
        logits = self.model(inputs)
        loss = self.criterion(logits, labels)
        self.optimizer.zero_grad()
        loss.backward()  # error: [backward-on-number] # raises: AttributeError "object has no attribute 'backward'"
        self.optimizer.step()
        self.global_step += 1
        return loss

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for batch in loader:
                total += float(self.train_step(batch))
            if self.scheduler is not None:
                self.scheduler.step()
            print(f"epoch {epoch}, step {self.global_step}: {total / len(loader):.4f}")


def main():
    torch.manual_seed(0)
    loader = rare_event_loader(samples=60, features=8, batch_size=12)
    model = MLP(8, [16, 8], 1)
    criterion = build_criterion("focal", gamma=2.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    Engine(model, criterion, optimizer, scheduler).fit(loader, epochs=2)


if __name__ == "__main__":
    main()
