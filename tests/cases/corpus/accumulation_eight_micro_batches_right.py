import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUM = 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))

    def forward(self, x):
        return self.layers(x)


def main():
    dataset = TensorDataset(torch.randn(64, 10), torch.randn(64, 1))
    loader = DataLoader(dataset, batch_size=2, shuffle=True)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    total_loss = 0
    for epoch in range(2):
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x), y) / ACCUM
            total_loss = total_loss + loss
            if (step + 1) % ACCUM == 0:
                total_loss.backward()
                opt.step()
                opt.zero_grad()
                print("step", step, float(total_loss))
                total_loss = 0


main()
