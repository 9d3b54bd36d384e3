import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 4))
        self.generator = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 8))
        self.mapping = nn.Linear(4, 4)
        self.discriminator = nn.Linear(8, 1)

    def forward(self, real, mode):
        if mode == "G":
            z = torch.randn(4, 4)
            stylecode = self.mapping(z)
            fake = self.generator(stylecode)
            adv_loss = nn.functional.softplus(-self.discriminator(fake)).mean()
            fake_stylecode = self.encoder(fake)
            w_rec_loss = nn.functional.mse_loss(stylecode, fake_stylecode)
            return adv_loss, w_rec_loss, stylecode
        elif mode == "E":
            code = self.encoder(real)
            return nn.functional.mse_loss(self.generator(code), real)
        elif mode == "D":
            with torch.no_grad():
                fake = self.generator(self.mapping(torch.randn(4, 4)))
            return nn.functional.softplus(self.discriminator(fake)).mean() + nn.functional.softplus(
                -self.discriminator(real)
            ).mean()
        raise ValueError(mode)


def train(args, model, optims):
    g_optim, d_optim, e_optim = optims
    for i in range(args["iters"]):
        real = torch.rand(4, 8)
        d_optim.zero_grad()
        model(real, "D").backward()
        d_optim.step()

        g_optim.zero_grad()
        e_optim.zero_grad()
        adv_loss, w_rec_loss, stylecode = model(None, "G")
        g_loss = adv_loss * args["lambda_adv"]
        g_loss.backward()
        (w_rec_loss * args["lambda_w"]).backward()  # error: [double-backward] # raises: RuntimeError "second time"
        g_optim.step()

        e_loss = model(real, "E")
        e_loss.backward()
        e_optim.step()


if __name__ == "__main__":
    model = Model()
    optims = (
        torch.optim.Adam([*model.generator.parameters(), *model.mapping.parameters()], lr=1e-3),
        torch.optim.Adam(model.discriminator.parameters(), lr=1e-3),
        torch.optim.Adam(model.encoder.parameters(), lr=1e-3),
    )
    train({"iters": 2, "lambda_adv": 1.0, "lambda_w": 0.1}, model, optims)
