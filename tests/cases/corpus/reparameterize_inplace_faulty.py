import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConditionalVAE(nn.Module):
    def __init__(self, dim=12, classes=3, hidden=16, latent=4):
        super().__init__()
        self.classes = classes
        self.fc1 = nn.Linear(dim + classes, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent + classes, hidden)
        self.fc4 = nn.Linear(hidden, dim)

    def encode(self, x, c):
        h1 = F.relu(self.fc1(torch.cat([x, c], dim=1)))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = logvar.mul(0.5).exp_()
        eps = torch.randn_like(std)
        return std.mul_(eps).add_(mu)  # error: [inplace-on-saved]

    def decode(self, z, c):
        h3 = F.relu(self.fc3(torch.cat([z, c], dim=1)))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x, label):
        c = F.one_hot(label, self.classes).to(x.dtype)
        mu, logvar = self.encode(x, c)
        return self.decode(self.reparameterize(mu, logvar), c), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x, reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def train(model, train_loader, optimizer, epoch, log_interval=2):
    model.train()
    train_loss = 0
    for batch_idx, (data, label) in enumerate(train_loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data, label)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        train_loss += loss.item()
        optimizer.step()
        if batch_idx % log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}] Loss: {loss.item() / len(data):.6f}")
    print(f"====> Epoch: {epoch} Average loss: {train_loss / len(train_loader.dataset):.4f}")


def main():
    torch.manual_seed(1)
    dataset = TensorDataset(torch.rand(40, 12), torch.randint(0, 3, (40,)))
    model = ConditionalVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 3):
        train(model, DataLoader(dataset, batch_size=10, shuffle=True), optimizer, epoch)


if __name__ == "__main__":
    main()
