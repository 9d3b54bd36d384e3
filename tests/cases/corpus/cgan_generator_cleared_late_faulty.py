# Conditional GAN, notebook style
import torch
import torch.nn as nn

nz, n_classes, img = 6, 3, 16
netG = nn.Sequential(nn.Linear(nz + n_classes, 24), nn.LeakyReLU(0.2, True), nn.Linear(24, img), nn.Tanh())
netD = nn.Sequential(nn.Linear(img + n_classes, 24), nn.LeakyReLU(0.2, True), nn.Linear(24, 1), nn.Sigmoid())
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
frozen = [p.detach().clone() for p in netG.parameters()]
data = [(torch.rand(5, img) * 2 - 1, torch.randint(n_classes, (5,))) for _ in range(4)]


def onehot(y):
    return nn.functional.one_hot(y, n_classes).float()


for epoch in range(2):
    for i, (x, y) in enumerate(data):
        c = onehot(y)
        noise = torch.randn(len(x), nz)
        fake = netG(torch.cat([noise, c], 1))
        real_label, fake_label = torch.ones(len(x), 1), torch.zeros(len(x), 1)

        # (1) G
        errG = criterion(netD(torch.cat([fake, c], 1)), real_label)
        errG.backward()

        # (2) D
        optimizerD.zero_grad()
        optimizerG.zero_grad()  # warning: [zero-grad-before-step]
        errD_real = criterion(netD(torch.cat([x, c], 1)), real_label)
        errD_fake = criterion(netD(torch.cat([fake.detach(), c], 1)), fake_label)
        errD = errD_real + errD_fake
        errD.backward()
        optimizerD.step()
        optimizerG.step()
        if i % 2 == 0:
            print('[%d/%d] Loss_D: %.4f Loss_G: %.4f' % (epoch, i, errD.item(), errG.item()))
# torch: all(torch.equal(a, b) for a, b in zip(frozen, netG.parameters()))
