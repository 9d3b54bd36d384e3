import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class FNO1d(nn.Module):
    """One layer of a Fourier neural operator."""

    def __init__(self, modes=4, width=6):
        super().__init__()
        self.modes = modes
        self.lift = nn.Linear(1, width)
        self.weight = nn.Parameter(torch.randn(width, width, modes, dtype=torch.cfloat) / width)
        self.skip = nn.Conv1d(width, width, 1)
        self.project = nn.Linear(width, 1)

    def forward(self, u):
        h = self.lift(u.unsqueeze(-1)).transpose(1, 2)
        spectrum = torch.fft.rfft(h)[..., : self.modes]
        mixed = torch.einsum("bim,iom->bom", spectrum, self.weight)
        h = torch.nn.functional.gelu(torch.fft.irfft(mixed, n=h.size(-1)) + self.skip(h))
        return self.project(h.transpose(1, 2)).squeeze(-1)


class RelativeL2(nn.Module):
    def forward(self, prediction, target):
        return ((prediction - target).norm(dim=1) / target.norm(dim=1)).mean()


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for u, v in loader:
        prediction = model(u)
        loss = criterion(prediction, v)
        loss.backward()
        model.zero_grad()  # warning: [zero-grad-before-step]
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def functions(n, points=16):
    x = torch.linspace(0, 1, points)
    k = torch.randint(1, 4, (n, 1))
    phase = torch.rand(n, 1) * 6.28
    return TensorDataset(torch.sin(6.28 * k * x + phase), 6.28 * k * torch.cos(6.28 * k * x + phase) / 10)


def main():
    torch.manual_seed(0)
    model = FNO1d()
    before = model.project.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(functions(32), batch_size=8, shuffle=True)
    for epoch in range(2):
        print(epoch, train_epoch(model, loader, optimizer, RelativeL2()))
    return before, model.project.weight.detach()


if __name__ == "__main__":
    before, after = main()

# torch: torch.equal(before, after)
