import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TrainerConfig:
    max_epochs = 1
    accumulate = 4
    grad_norm_clip = 1.0

    def __init__(self, **kwargs):
        for k, v in kwargs.items():
            setattr(self, k, v)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(2)])
        self.norm = nn.LayerNorm(6)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.relu(layer(self.norm(x)))
        return self.out(x).squeeze(-1)


class Trainer:
    def __init__(self, model, train_dataset, config):
        self.model, self.config = model, config
        self.loader = DataLoader(train_dataset, batch_size=4, shuffle=True)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        self.updates = 0

    def run_epoch(self):
        self.model.train()
        for it, (x, y) in enumerate(self.loader):
            loss = nn.functional.mse_loss(self.model(x), y) / self.config.accumulate
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_norm_clip)
            if (it + 1) % self.config.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.updates += 1

    def train(self):
        for epoch in range(self.config.max_epochs):
            self.run_epoch()


torch.manual_seed(0)
net = Net()
before = net.out.weight.detach().clone()
dataset = TensorDataset(torch.rand(32, 6), torch.rand(32))
trainer = Trainer(net, dataset, TrainerConfig(max_epochs=2))
trainer.train()
# torch: trainer.updates == 4 and not torch.equal(before, net.out.weight)
