import torch
from losses import PerceptualLoss
from models.discriminator import Discriminator
from models.generator import Generator
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(netG, netD, generator_criterion, loader, optimizerG, optimizerD):
    results = {"d_loss": 0.0, "g_loss": 0.0, "batches": 0}
    netG.train()
    netD.train()
    for data, target in loader:
        results["batches"] += 1
        fake_img = netG(data)

        # Update D network: maximize D(x) - 1 - D(G(z))
        netD.zero_grad()
        real_out = netD(target).mean()
        fake_out = netD(fake_img).mean()
        d_loss = 1 - real_out + fake_out
        d_loss.backward()

        # Update G network: minimize 1 - D(G(z)) + perceptual loss + image loss
        netG.zero_grad()
        g_loss = generator_criterion(fake_out, fake_img, target)
        g_loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"

        optimizerD.step()
        optimizerG.step()
        results["d_loss"] += d_loss.item()
        results["g_loss"] += g_loss.item()
    return results


def main():
    torch.manual_seed(0)
    high = torch.rand(12, 3, 8, 8)
    low = nn.functional.avg_pool2d(high, 2)
    loader = DataLoader(TensorDataset(low, high), batch_size=4)
    netG, netD = Generator(scale=2), Discriminator()
    generator_criterion = PerceptualLoss()
    optimizerG, optimizerD = optim.Adam(netG.parameters()), optim.Adam(netD.parameters())
    for epoch in range(1, 3):
        results = train_epoch(netG, netD, generator_criterion, loader, optimizerG, optimizerD)
        print(f"[{epoch}] Loss_D: {results['d_loss']:.4f} Loss_G: {results['g_loss']:.4f}")


if __name__ == "__main__":
    main()
