import torch
from torch import nn
from torch.utils.data import DataLoader


class LocalUpdateMulti(object):
    def __init__(self, args, source, target, device="cpu"):
        self.args = args
        self.loader = DataLoader(source, batch_size=args.local_bs, shuffle=True)
        self.target = DataLoader(target, batch_size=args.local_bs, shuffle=True)
        self.device = device
        self.criterion = nn.L1Loss()
        self.adv = nn.BCELoss()

    def train(self, net, disc):
        net.train()
        opt_g = torch.optim.RMSprop(net.parameters(), lr=self.args.lr)
        opt_d = torch.optim.RMSprop(disc.parameters(), lr=self.args.lr)
        epoch_loss = []
        for _ in range(self.args.local_ep):
            batch_loss = []
            for (img, gt), (timg, _) in zip(self.loader, self.target):
                img, gt, timg = img.to(self.device), gt.to(self.device), timg.to(self.device)
                out, feat_s = net(img)
                _, feat_t = net(timg)

                opt_d.zero_grad()
                real, fake = torch.ones(len(img), 1), torch.zeros(len(timg), 1)
                loss_d = self.adv(disc(feat_s.detach()), real) + self.adv(disc(feat_t.detach()), fake)
                loss_d.backward()
                opt_d.step()

                opt_g.zero_grad()
                loss_adv_g = self.adv(disc(feat_t), real)
                loss = self.criterion(out, gt) + self.args.lam * loss_adv_g
                loss.backward()
                opt_g.step()
                batch_loss.append(loss.item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss)
