import itertools
import random

import torch
from torch import nn


class ImagePool:
    def __init__(self, pool_size):
        self.pool_size = pool_size
        self.images = []

    def query(self, images):
        if self.pool_size == 0:
            return images
        return_images = []
        for image in images:
            image = torch.unsqueeze(image, 0)
            if len(self.images) < self.pool_size:
                self.images.append(image)
                return_images.append(image)
            else:
                old = self.images[random.randint(0, self.pool_size - 1)]
                return_images.append(old)
        return torch.cat(return_images, 0)


def conv_net(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, 4, 3, 1, 1), nn.ReLU(), nn.Conv2d(4, c_out, 3, 1, 1))


def main():
    G_AB, G_BA = conv_net(1, 1), conv_net(1, 1)
    D_A, D_B = conv_net(1, 1), conv_net(1, 1)
    pool_A, pool_B = ImagePool(50), ImagePool(50)
    opt_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-4)
    opt_D = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=2e-4)
    gan, cycle = nn.MSELoss(), nn.L1Loss()

    for step in range(3):
        real_A, real_B = torch.rand(2, 1, 6, 6), torch.rand(2, 1, 6, 6)
        opt_G.zero_grad()
        fake_B, fake_A = G_AB(real_A), G_BA(real_B)
        rec_A, rec_B = G_BA(fake_B), G_AB(fake_A)
        pred_B, pred_A = D_B(fake_B), D_A(fake_A)
        loss_G = gan(pred_B, torch.ones_like(pred_B)) + gan(pred_A, torch.ones_like(pred_A))
        loss_G = loss_G + 10 * (cycle(rec_A, real_A) + cycle(rec_B, real_B))
        loss_G.backward()
        opt_G.step()

        opt_D.zero_grad()
        total = 0.0
        for net, real, fake, pool in ((D_A, real_A, fake_A, pool_A), (D_B, real_B, fake_B, pool_B)):
            pred_real, pred_fake = net(real), net(pool.query(fake))
            loss_D = 0.5 * (gan(pred_real, torch.ones_like(pred_real)) + gan(pred_fake, torch.zeros_like(pred_fake)))
            loss_D.backward()  # error: [double-backward] # raises: RuntimeError "second time"
            total += loss_D.item()
        opt_D.step()
        print(step, loss_G.item(), total)


main()
