import torch
from torch import nn
import torch.nn.functional as F


class Autoencoder(nn.Module):
    def __init__(self, d=10, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 8), nn.ELU(), nn.Linear(8, z))
        self.dec = nn.Sequential(nn.Linear(z, 8), nn.ELU(), nn.Linear(8, d))

    def forward(self, x):
        z = self.enc(x)
        return z, self.dec(z)


class LitLike:
    def __init__(self):
        self.model = Autoencoder()
        self.opt = self.configure_optimizers()
        self.step_count = 0

    def configure_optimizers(self):
        return torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def compute(self, x):
        z, rec = self.model(x)
        return {"rec": F.mse_loss(rec, x), "reg": z.pow(2).mean()}

    def optimise(self, loss):
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        self.step_count += 1

    def run(self, batches):
        for x in batches:
            losses = self.compute(x)
            self.optimise(losses["rec"] + 1e-3 * losses["reg"])
        return self.step_count


torch.manual_seed(0)
lit = LitLike()
start = [p.clone() for p in lit.model.parameters()]
lit.run([torch.randn(5, 10) for _ in range(4)])
same = all(torch.equal(a, b) for a, b in zip(start, lit.model.parameters()))
# torch: not same
