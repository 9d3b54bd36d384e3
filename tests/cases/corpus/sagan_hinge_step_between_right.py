import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm


class SelfAttn(nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.query_conv = nn.Conv2d(in_dim, in_dim // 2, 1)
        self.key_conv = nn.Conv2d(in_dim, in_dim // 2, 1)
        self.value_conv = nn.Conv2d(in_dim, in_dim, 1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        b, c, w, h = x.size()
        q = self.query_conv(x).view(b, -1, w * h).permute(0, 2, 1)
        k = self.key_conv(x).view(b, -1, w * h)
        attention = self.softmax(torch.bmm(q, k))
        v = self.value_conv(x).view(b, -1, w * h)
        out = torch.bmm(v, attention.permute(0, 2, 1)).view(b, c, w, h)
        return self.gamma * out + x


class Generator(nn.Module):
    def __init__(self, z_dim=8):
        super().__init__()
        self.fc = nn.Linear(z_dim, 4 * 4 * 4)
        self.attn = SelfAttn(4)
        self.last = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, z):
        x = F.relu(self.fc(z)).view(-1, 4, 4, 4)
        return torch.tanh(self.last(self.attn(x)))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = spectral_norm(nn.Conv2d(1, 4, 3, padding=1))
        self.attn = SelfAttn(4)
        self.l2 = spectral_norm(nn.Linear(64, 1))

    def forward(self, x):
        x = F.leaky_relu(self.l1(x), 0.1)
        x = self.attn(x)
        return self.l2(x.flatten(1))


class Trainer(object):
    def __init__(self, config):
        self.total_step = config["total_step"]
        self.z_dim = config["z_dim"]
        self.batch_size = config["batch_size"]
        self.build_model()

    def build_model(self):
        self.G = Generator(self.z_dim)
        self.D = Discriminator()
        self.g_optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, self.G.parameters()), 1e-4, (0.0, 0.9))
        self.d_optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, self.D.parameters()), 4e-4, (0.0, 0.9))

    def reset_grad(self):
        self.d_optimizer.zero_grad()
        self.g_optimizer.zero_grad()

    def train(self):
        for step in range(self.total_step):
            self.D.train()
            self.G.train()
            real_images = torch.rand(self.batch_size, 1, 4, 4)
            z = torch.randn(self.batch_size, self.z_dim)
            fake_images = self.G(z)
            d_out_real = self.D(real_images)
            d_loss_real = F.relu(1.0 - d_out_real).mean()
            d_out_fake = self.D(fake_images.detach())
            d_loss_fake = F.relu(1.0 + d_out_fake).mean()
            d_loss = d_loss_real + d_loss_fake
            self.reset_grad()
            d_loss.backward()
            self.d_optimizer.step()
            d_out_fake = self.D(fake_images)
            g_loss_fake = -d_out_fake.mean()
            self.reset_grad()
            g_loss_fake.backward()
            self.g_optimizer.step()
            if (step + 1) % 2 == 0:
                print(f"step {step + 1}: d_loss {d_loss_real.item():.4f} ave_gamma {self.G.attn.gamma.mean().item():.4f}")


if __name__ == "__main__":
    Trainer({"total_step": 3, "z_dim": 8, "batch_size": 4}).train()
