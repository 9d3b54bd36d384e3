import torch
import torch.nn as nn


class LightningModule(nn.Module):
    """The part of a framework that the script needs."""

    def __init__(self):
        super().__init__()
        self._optimizers = None
        self.automatic_optimization = True

    def optimizers(self):
        if self._optimizers is None:
            self._optimizers = self.configure_optimizers()
        return self._optimizers

    def manual_backward(self, loss, **kwargs):
        loss.backward(**kwargs)  # error: [double-backward] # raises: RuntimeError "through the graph a second time"

    def log(self, name, value):
        print(name, float(value))


class LitGAN(LightningModule):
    def __init__(self, latent=3):
        super().__init__()
        self.automatic_optimization = False
        self.latent = latent
        self.G = nn.Sequential(nn.Linear(latent, 8), nn.ReLU(), nn.Linear(8, 2))
        self.D = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))

    def configure_optimizers(self):
        return torch.optim.Adam(self.G.parameters()), torch.optim.Adam(self.D.parameters())

    def training_step(self, batch, batch_idx):
        g_opt, d_opt = self.optimizers()
        real = batch
        fake = self.G(torch.randn(real.size(0), self.latent))
        d_loss = nn.functional.softplus(-self.D(real)).mean() + nn.functional.softplus(self.D(fake)).mean()
        d_opt.zero_grad()
        self.manual_backward(d_loss)
        d_opt.step()
        g_loss = nn.functional.softplus(-self.D(fake)).mean()
        g_opt.zero_grad()
        self.manual_backward(g_loss)
        g_opt.step()
        self.log("g_loss", g_loss.detach())


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model, loader):
        for _ in range(self.max_epochs):
            for i, batch in enumerate(loader):
                model.training_step(batch, i)


Trainer(max_epochs=2).fit(LitGAN(), [torch.randn(4, 2) for _ in range(2)])
