import torch
import torch.nn as nn
import torch.nn.functional as F


class Recon(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
        self.dec = nn.Linear(6, 8)

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), z


class SiteUpdate:
    """Local training of one hospital: reconstruction, and an adversary that tells the sites apart."""

    def __init__(self, args, data):
        self.args = args
        self.data = data
        self.net = Recon()
        self.adv = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2))
        self.opt = torch.optim.Adam(list(self.net.enc.parameters()) + list(self.net.dec.parameters()), lr=args["lr"])
        self.opt_adv = torch.optim.Adam(self.adv.parameters(), lr=args["lr"])

    def train(self):
        rec_hist, adv_hist = [], []
        for x, site in self.data:
            out, z = self.net(x)
            d_loss = F.cross_entropy(self.adv(z.detach()), site)
            self.opt_adv.zero_grad()
            d_loss.backward()
            self.opt_adv.step()

            rec = F.l1_loss(out, x)
            adv = F.cross_entropy(self.adv(z), 1 - site)
            adv_hist.append(adv.item())
            loss = rec + self.args["beta"] * adv
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            rec_hist.append(rec.item())
        return sum(rec_hist) / len(rec_hist), sum(adv_hist) / len(adv_hist)


torch.manual_seed(0)
data = [(torch.randn(5, 8), torch.randint(0, 2, (5,))) for _ in range(3)]
u = SiteUpdate({"lr": 1e-3, "beta": 0.1}, data)
print(u.train())
u.opt_adv.zero_grad()
out, z = u.net(data[0][0])
# torch: u.adv[0].weight.grad is None
