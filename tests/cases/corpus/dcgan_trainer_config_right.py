"""Small DCGAN on random images; the generator step reuses the discriminator's verdict."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    nz: int = 8
    ngf: int = 4
    image_size: int = 8
    batch_size: int = 4
    epochs: int = 1
    lr: float = 2e-4


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(cfg.nz, cfg.ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(cfg.ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(cfg.ngf * 2, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, cfg.ngf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(cfg.ngf, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


class GANTrainer:
    def __init__(self, cfg, device):
        self.cfg, self.device = cfg, device
        self.netG = Generator(cfg).to(device)
        self.netD = Discriminator(cfg).to(device)
        self.netG.apply(weights_init)
        self.netD.apply(weights_init)
        self.criterion = nn.BCELoss()
        self.optimizerD = optim.Adam(self.netD.parameters(), lr=cfg.lr, betas=(0.5, 0.999))
        self.optimizerG = optim.Adam(self.netG.parameters(), lr=cfg.lr, betas=(0.5, 0.999))

    def train_d(self, real, fake):
        b = real.size(0)
        self.netD.zero_grad()
        errD_real = self.criterion(self.netD(real), torch.ones(b, device=self.device))
        errD_real.backward()
        output = self.netD(fake.detach())
        errD_fake = self.criterion(output, torch.zeros(b, device=self.device))
        errD_fake.backward()
        self.optimizerD.step()
        return (errD_real + errD_fake).item()

    def train_g(self, fake):
        self.netG.zero_grad()
        output = self.netD(fake)
        errG = self.criterion(output, torch.ones(fake.size(0), device=self.device))
        errG.backward()
        self.optimizerG.step()
        return errG.item()

    def fit(self, loader):
        for epoch in range(self.cfg.epochs):
            for i, (real,) in enumerate(loader, 0):
                real = real.to(self.device)
                noise = torch.randn(real.size(0), self.cfg.nz, 1, 1, device=self.device)
                fake = self.netG(noise)
                d = self.train_d(real, fake)
                g = self.train_g(fake)
                print(f"[{epoch}][{i}] D {d:.3f} G {g:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args([])
    cfg = Config(epochs=args.epochs)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(torch.rand(8, 1, 8, 8)), batch_size=cfg.batch_size, shuffle=True)
    GANTrainer(cfg, device).fit(loader)


if __name__ == "__main__":
    main()
