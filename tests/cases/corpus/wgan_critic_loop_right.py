import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Critic(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(dim, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))

    def forward(self, x):
        return self.main(x).view(-1)


class Generator(nn.Module):
    def __init__(self, z_dim, dim, width):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(z_dim, width), nn.ReLU(True), nn.Linear(width, dim), nn.Tanh())

    def forward(self, z):
        return self.main(z)


def clip_weights(net, limit):
    with torch.no_grad():
        for p in net.parameters():
            p.clamp_(-limit, limit)


def train(generator, critic, loader, opt_g, opt_c, args):
    history = []
    for real, *_ in loader:
        noise = torch.randn(real.size(0), args.z_dim)
        fake = generator(noise)
        for _ in range(args.n_critic):
            critic_loss = critic(fake.detach()).mean() - critic(real).mean()
            opt_c.zero_grad()
            critic_loss.backward()
            opt_c.step()
            clip_weights(critic, args.clip)

        gen_loss = -critic(generator(noise)).mean()
        opt_g.zero_grad()
        gen_loss.backward()
        opt_g.step()
        history.append((critic_loss.item(), gen_loss.item()))
    return history


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--z-dim", type=int, default=6)
    parser.add_argument("--n-critic", type=int, default=5)
    parser.add_argument("--clip", type=float, default=0.01)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--epochs", type=int, default=2)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.rand(32, 10)), batch_size=8, shuffle=True)
    generator, critic = Generator(args.z_dim, 10, 16), Critic(10, 16)
    opt_g = optim.RMSprop(generator.parameters(), lr=args.lr)
    opt_c = optim.RMSprop(critic.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        history = train(generator, critic, loader, opt_g, opt_c, args)
        print(f"Epoch {epoch}: W-distance {-history[-1][0]:.4f}")


if __name__ == "__main__":
    main()
