import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SNLinear(nn.Module):
    """Linear layer whose weight is divided by its largest singular value (power iteration)."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.orthogonal_(self.weight)
        self.register_buffer("u", F.normalize(torch.randn(out_features), dim=0))

    def normalised_weight(self):
        with torch.no_grad():
            v = F.normalize(self.weight.t() @ self.u, dim=0)
            self.u.copy_(F.normalize(self.weight @ v, dim=0))
            u = self.u.clone()
        sigma = torch.dot(u, self.weight @ v)
        return self.weight / sigma

    def forward(self, x):
        return F.linear(x, self.normalised_weight(), self.bias)


class Discriminator(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.l1 = SNLinear(dim, hidden)
        self.l2 = SNLinear(hidden, 1)

    def forward(self, x):
        return self.l2(F.leaky_relu(self.l1(x), 0.1))


class Generator(nn.Module):
    def __init__(self, z_dim, dim, hidden):
        super().__init__()
        self.z_dim = z_dim
        self.l1 = nn.Linear(z_dim, hidden)
        self.l2 = nn.Linear(hidden, dim)

    def forward(self, n):
        return self.l2(F.relu(self.l1(torch.randn(n, self.z_dim))))


def d_hinge(real, fake):
    return F.relu(1.0 - real).mean() + F.relu(1.0 + fake).mean()


def update_dis(gen, dis, opt, x_real):
    d_real = dis(x_real)
    with torch.no_grad():
        x_fake = gen(len(x_real))
    d_fake = dis(x_fake)
    loss = d_hinge(d_real, d_fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def update_gen(gen, dis, opt, n):
    loss = -dis(gen(n)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(40, 3).tanh()), batch_size=10, shuffle=True)
    gen, dis = Generator(4, 3, 12), Discriminator(3, 12)
    opt_gen = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.0, 0.9))
    opt_dis = torch.optim.Adam(dis.parameters(), lr=2e-4, betas=(0.0, 0.9))
    for (x_real,) in loader:
        d_loss = update_dis(gen, dis, opt_dis, x_real)
        g_loss = update_gen(gen, dis, opt_gen, len(x_real))
        print(f"dis {d_loss:.4f} gen {g_loss:.4f}")


if __name__ == "__main__":
    main()
