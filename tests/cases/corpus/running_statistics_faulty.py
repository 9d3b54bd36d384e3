import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class RunningNorm(nn.Module):
    """Normalises by statistics that are averaged over the batches, in training, too."""

    def __init__(self, features, momentum=0.1, eps=1e-5):
        super().__init__()
        self.momentum = momentum
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))

    def forward(self, x):
        if self.training:
            mean, var = x.mean(dim=0), x.var(dim=0)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
        x = (x - self.running_mean) / torch.sqrt(self.running_var + self.eps)
        return self.weight * x + self.bias


class Regressor(nn.Module):
    def __init__(self, in_features=6, width=12):
        super().__init__()
        self.fc1 = nn.Linear(in_features, width)
        self.norm = RunningNorm(width)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.norm(self.fc1(x)))).squeeze(1)


def fit(model, train_loader, val_loader, opt, loss_func, epochs):
    for epoch in range(epochs):
        model.train()
        for xb, yb in train_loader:
            loss = loss_func(model(xb), yb)
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            opt.step()
            opt.zero_grad()

        model.eval()
        with torch.no_grad():
            losses, nums = zip(*[(loss_func(model(xb), yb).item(), len(xb)) for xb, yb in val_loader])
        val_loss = sum(value * n for value, n in zip(losses, nums)) / sum(nums)
        print(epoch, val_loss)


def get_data(x_train, y_train, x_valid, y_valid, bs):
    return (
        DataLoader(TensorDataset(x_train, y_train), batch_size=bs, shuffle=True),
        DataLoader(TensorDataset(x_valid, y_valid), batch_size=bs * 2),
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(60, 6)
    y = x[:, 0] * x[:, 1]
    train_dl, valid_dl = get_data(x[:40], y[:40], x[40:], y[40:], bs=10)
    model = Regressor()
    fit(model, train_dl, valid_dl, torch.optim.SGD(model.parameters(), lr=0.05), nn.MSELoss(), epochs=2)
