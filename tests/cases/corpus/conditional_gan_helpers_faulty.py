import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

NUM_CLASSES = 3
Z_DIM = 4


class CondGenerator(nn.Module):
    def __init__(self, out_dim=6):
        super().__init__()
        self.label_emb = nn.Embedding(NUM_CLASSES, Z_DIM)
        self.fc1 = nn.Linear(Z_DIM * 2, 24)
        self.fc2 = nn.Linear(24, out_dim)

    def forward(self, z, y):
        h = torch.cat([z, self.label_emb(y)], dim=1)
        return torch.tanh(self.fc2(F.relu(self.fc1(h))))


class CondDiscriminator(nn.Module):
    def __init__(self, in_dim=6):
        super().__init__()
        self.label_emb = nn.Embedding(NUM_CLASSES, in_dim)
        self.fc1 = nn.Linear(in_dim * 2, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x, y):
        h = torch.cat([x, self.label_emb(y)], dim=1)
        return self.fc2(F.leaky_relu(self.fc1(h), 0.2)).squeeze(-1)


def train_discriminator(disc, optimizer, real, fake, labels):
    optimizer.zero_grad()
    real_loss = F.binary_cross_entropy_with_logits(disc(real, labels), torch.ones(len(real)))
    fake_loss = F.binary_cross_entropy_with_logits(disc(fake, labels), torch.zeros(len(fake)))
    loss = (real_loss + fake_loss) / 2
    loss.backward()
    optimizer.step()
    return loss.item()


def train_generator(disc, optimizer, fake, labels):
    optimizer.zero_grad()
    loss = F.binary_cross_entropy_with_logits(disc(fake, labels), torch.ones(len(fake)))
    loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
    return loss.item()


def fit(gen, disc, loader, epochs=2):
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3)
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3)
    for epoch in range(epochs):
        d_losses, g_losses = [], []
        for real, labels in loader:
            fake = gen(torch.randn(len(real), Z_DIM), labels)
            d_losses.append(train_discriminator(disc, opt_d, real, fake, labels))
            g_losses.append(train_generator(disc, opt_g, fake, labels))
        print(epoch, sum(d_losses) / len(d_losses), sum(g_losses) / len(g_losses))


if __name__ == "__main__":
    torch.manual_seed(2)
    data = TensorDataset(torch.randn(24, 6), torch.randint(NUM_CLASSES, (24,)))
    fit(CondGenerator(), CondDiscriminator(), DataLoader(data, batch_size=8, shuffle=True))
