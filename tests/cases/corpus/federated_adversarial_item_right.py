"""A federated update whose adversarial loss becomes a number too early."""

import torch
from torch import nn, optim


class LocalUpdate:
    def __init__(self, args, lr=1e-3):
        self.args = args
        self.lr = lr
        self.mse = nn.L1Loss()
        self.gan = nn.BCEWithLogitsLoss()

    def train(self, net, net_d, loader, device="cpu"):
        net.train()
        optimizer = optim.RMSprop(net.parameters(), self.lr)
        optimizer_d = optim.RMSprop(net_d.parameters(), self.lr)
        epoch_loss, epoch_loss_adv = [], []
        for iter in range(self.args["local_ep"]):
            batch_loss, batch_adv = [], []
            for batch_idx, (source, target) in enumerate(loader):
                source, target = source.to(device), target.to(device)
                feat, output = net(source)
                logits = net_d(feat)
                optimizer.zero_grad()
                loss = self.mse(output, target)
                loss_adv = self.gan(logits, torch.ones_like(logits))
                total = loss + 0.1 * loss_adv
                total.backward()
                optimizer.step()
                batch_loss.append(loss.item())
                batch_adv.append(loss_adv.detach().item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
            epoch_loss_adv.append(sum(batch_adv) / len(batch_adv))
            print("epoch", iter, epoch_loss[-1], epoch_loss_adv[-1])
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(6, 4)
        self.up = nn.Linear(4, 6)

    def forward(self, x):
        feat = torch.relu(self.down(x))
        return feat, self.up(feat)


if __name__ == "__main__":
    torch.manual_seed(2)
    net, net_d = Unet(), nn.Linear(4, 1)
    data = [(torch.randn(3, 6), torch.randn(3, 6)) for _ in range(2)]
    LocalUpdate({"local_ep": 2}).train(net, net_d, data)

# torch: net_d.weight.grad is not None
