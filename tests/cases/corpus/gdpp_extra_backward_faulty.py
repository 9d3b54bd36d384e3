import torch
from torch import nn


class DNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 6), nn.LeakyReLU(0.2))
        self.decision = nn.Linear(6, 1)

    def forward(self, x, getFeature=False):
        phi = self.features(x)
        out = self.decision(phi)
        return (out, phi) if getFeature else out


def GDPPLoss(phi_fake, phi_real, backward=True):
    def compute_diversity(phi):
        phi = nn.functional.normalize(phi, p=2, dim=1)
        s = torch.mm(phi, phi.t())
        return torch.diagonal(s) , torch.linalg.norm(s)

    fake_eig, fake_norm = compute_diversity(phi_fake)
    real_eig, real_norm = compute_diversity(phi_real)
    loss = 0.1 * ((fake_norm - real_norm) ** 2 + nn.functional.mse_loss(fake_eig, real_eig))
    if backward:
        loss.backward(retain_graph=True)  # error: [double-backward] # raises: RuntimeError "second time"
        return loss.item()
    return loss


class BaseGAN:
    def __init__(self, GDPP=True):
        self.netG = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 8))
        self.netD = DNet()
        self.optimizerG = torch.optim.Adam(self.netG.parameters(), lr=1e-3)
        self.optimizerD = torch.optim.Adam(self.netD.parameters(), lr=1e-3)
        self.GDPP = GDPP

    def optimizeParameters(self, inputs):
        self.optimizerD.zero_grad()
        loss_d = -self.netD(inputs).mean() + self.netD(self.netG(torch.randn(4, 3)).detach()).mean()
        loss_d.backward()
        self.optimizerD.step()

        self.optimizerG.zero_grad()
        fake = self.netG(torch.randn(4, 3))
        pred, phi_fake = self.netD(fake, True)
        lossGFake = -pred.mean()
        lossGFake.backward()
        if self.GDPP:
            _, phi_real = self.netD(inputs, True)
            GDPPLoss(phi_fake, phi_real.detach(), backward=True)
        self.optimizerG.step()


gan = BaseGAN()
for it in range(2):
    gan.optimizeParameters(torch.rand(4, 8))
