"""A GAN for short melodies; the discriminator's graph is kept although nobody comes back to it."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MelodyGenerator(nn.Module):
    def __init__(self, latent=5, steps=6, hidden=12):
        super().__init__()
        self.steps = steps
        self.rnn = nn.GRU(latent, hidden, batch_first=True)
        self.note = nn.Linear(hidden, 3)

    def forward(self, z):
        out, _ = self.rnn(z.unsqueeze(1).expand(-1, self.steps, -1))
        return torch.tanh(self.note(out))


class MelodyDiscriminator(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.rnn = nn.GRU(3, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.out(out.mean(dim=1)).squeeze(1)


class GANTrainer:
    def __init__(self, generator, discriminator, latent=5):
        self.generator, self.discriminator, self.latent = generator, discriminator, latent
        self.opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
        self.loss_d = None

    def discriminator_step(self, real, fake):
        self.opt_d.zero_grad()
        logits_real, logits_fake = self.discriminator(real), self.discriminator(fake.detach())
        self.loss_d = F.softplus(-logits_real).mean() + F.softplus(logits_fake).mean()
        self.loss_d.backward()
        self.opt_d.step()

    def generator_step(self, fake):
        self.opt_g.zero_grad()
        loss_g = F.softplus(-self.discriminator(fake)).mean()
        loss_g.backward()
        self.opt_g.step()
        return loss_g.item()

    def train(self, batches):
        for i, real in enumerate(batches):
            fake = self.generator(torch.randn(real.size(0), self.latent))
            self.discriminator_step(real, fake)
            loss_g = self.generator_step(fake)
            print(f"{i}: D {self.loss_d.item():.4f} G {loss_g:.4f}")


def saved_by_softplus(loss):
    try:
        return loss.grad_fn.next_functions[0][0].next_functions[0][0]._saved_self is not None
    except RuntimeError:
        return False


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = GANTrainer(MelodyGenerator(), MelodyDiscriminator())
    trainer.train([torch.rand(8, 6, 3) * 2 - 1 for _ in range(4)])
    held = saved_by_softplus(trainer.loss_d)

# torch: not held
