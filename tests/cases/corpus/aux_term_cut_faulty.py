"""A classifier with deep supervision: an auxiliary head on the first stage."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class DeeplySupervised(nn.Module):
    def __init__(self, in_dim=9, width=14, classes=3):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Linear(in_dim, width), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.main_head = nn.Linear(width, classes)
        self.aux_head = nn.Linear(width, classes)

    def forward(self, x):
        early = self.stage1(x)
        return self.main_head(self.stage2(early)), self.aux_head(early)


class SupervisedTrainer:
    def __init__(self, model, optimizer, aux_weight=0.4):
        self.model = model
        self.optimizer = optimizer
        self.aux_weight = aux_weight
        self.logs = []

    def compute_loss(self, x, y):
        main_logits, aux_logits = self.model(x)
        main = F.cross_entropy(main_logits, y)
        aux = F.cross_entropy(aux_logits, y)
        self.logs.append({"main": main.item(), "aux": aux.item()})
        return main + self.aux_weight * aux.detach()  # warning: [unreached-parameter]

    def train(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                loss = self.compute_loss(x, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch}: {self.logs[-1]}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(36, 9), torch.randint(0, 3, (36,))), batch_size=12)
    model = DeeplySupervised()
    SupervisedTrainer(model, torch.optim.Adam(model.parameters(), lr=1e-2)).train(loader, epochs=2)
    return model


if __name__ == "__main__":
    model = main()

# torch: model.aux_head.weight.grad is None
