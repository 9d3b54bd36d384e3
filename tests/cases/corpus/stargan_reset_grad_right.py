"""A domain-transfer GAN whose solver clears the gradients in a method."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, dim=6, domains=3, width=16):
        super().__init__()
        self.fc1 = nn.Linear(dim + domains, width)
        self.fc2 = nn.Linear(width, dim)

    def forward(self, x, c):
        return self.fc2(F.relu(self.fc1(torch.cat([x, c], dim=1))))


class Discriminator(nn.Module):
    def __init__(self, dim=6, domains=3, width=16):
        super().__init__()
        self.fc = nn.Linear(dim, width)
        self.src = nn.Linear(width, 1)
        self.cls = nn.Linear(width, domains)

    def forward(self, x):
        h = F.leaky_relu(self.fc(x), 0.01)
        return self.src(h), self.cls(h)


class Solver:
    def __init__(self, domains=3, lr=1e-6, lambda_cls=1.0, lambda_rec=10.0):
        self.domains = domains
        self.lambda_cls, self.lambda_rec = lambda_cls, lambda_rec
        self.G, self.D = Generator(domains=domains), Discriminator(domains=domains)
        self.g_optimizer = torch.optim.SGD(self.G.parameters(), lr)
        self.d_optimizer = torch.optim.SGD(self.D.parameters(), lr)
        self.g_grad_norms = []

    def reset_grad(self):
        """Reset the gradient buffers."""
        self.g_optimizer.zero_grad()
        self.d_optimizer.zero_grad()

    def one_hot(self, labels):
        return F.one_hot(labels, self.domains).float()

    def train_d(self, x_real, label_org, c_trg):
        out_src, out_cls = self.D(x_real)
        with torch.no_grad():
            x_fake = self.G(x_real, c_trg)
        d_loss = F.cross_entropy(out_cls, label_org) - out_src.mean() + self.D(x_fake)[0].mean()
        self.reset_grad()
        d_loss.backward()
        self.d_optimizer.step()
        return d_loss.item()

    def train_g(self, x_real, c_org, label_trg, c_trg):
        x_fake = self.G(x_real, c_trg)
        out_src, out_cls = self.D(x_fake)
        x_reconst = self.G(x_fake, c_org)
        g_loss = -out_src.mean() + self.lambda_cls * F.cross_entropy(out_cls, label_trg)
        g_loss = g_loss + self.lambda_rec * (x_real - x_reconst).abs().mean()
        self.reset_grad()
        g_loss.backward()
        self.g_optimizer.step()
        self.g_grad_norms.append(self.G.fc2.bias.grad.norm().item())
        return g_loss.item()

    def train(self, iterations, batch_size=16):
        for i in range(iterations):
            x_real = torch.randn(batch_size, 6) + 2.0
            label_org = torch.randint(0, self.domains, (batch_size,))
            label_trg = label_org[torch.randperm(batch_size)]
            c_org, c_trg = self.one_hot(label_org), self.one_hot(label_trg)
            d_loss = self.train_d(x_real, label_org, c_trg)
            g_loss = self.train_g(x_real, c_org, label_trg, c_trg)
            print(f"Iteration [{i + 1}/{iterations}], D: {d_loss:.4f}, G: {g_loss:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    solver = Solver()
    solver.train(iterations=8)

# torch: solver.g_grad_norms[-1] < 2 * solver.g_grad_norms[0]
