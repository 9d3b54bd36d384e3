import torch
from torch import nn, autograd
import torch.nn.functional as F


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def d_r1_loss(real_pred, real_img):
    grad_real, = autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)  # error: [detached-loss]  # raises: RuntimeError "not have been used"
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def accumulate(model1, model2, decay=0.999):
    par1, par2 = dict(model1.named_parameters()), dict(model2.named_parameters())
    for k in par1.keys():
        par1[k].data.mul_(decay).add_(par2[k].data, alpha=1 - decay)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 8))
        self.out = nn.Linear(8, 12)

    def forward(self, z):
        return torch.tanh(self.out(self.style(z)))


def train(loader, generator, discriminator, g_optim, d_optim, g_ema, d_reg_every=2, r1=10):
    for i, real_img in enumerate(loader):
        requires_grad(generator, False)
        requires_grad(discriminator, True)
        fake_img = generator(torch.randn(len(real_img), 4))
        d_loss = F.softplus(-discriminator(real_img)).mean() + F.softplus(discriminator(fake_img)).mean()
        discriminator.zero_grad()
        d_loss.backward()
        d_optim.step()
        if i % d_reg_every == 0:
            real_pred = discriminator(real_img)
            real_img.requires_grad = True
            r1_loss = d_r1_loss(real_pred, real_img)
            discriminator.zero_grad()
            (r1 / 2 * r1_loss * d_reg_every + 0 * real_pred[0]).sum().backward()
            d_optim.step()
        requires_grad(generator, True)
        requires_grad(discriminator, False)
        g_loss = F.softplus(-discriminator(generator(torch.randn(len(real_img), 4)))).mean()
        generator.zero_grad()
        g_loss.backward()
        g_optim.step()
        accumulate(g_ema, generator)


G, E = Generator(), Generator()
D = nn.Sequential(nn.Linear(12, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
train([torch.rand(3, 12) for _ in range(3)], G, D, torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters()), E)
