import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from losses import RelativeTaskLoss
from model import TwoTask


def task_losses(out, batch):
    _, depth, label = batch
    return {"depth": F.l1_loss(out["depth"], depth), "label": F.cross_entropy(out["label"], label)}


def main(epochs=2):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(24, 4), torch.rand(24), torch.randint(0, 3, (24,)))
    net = TwoTask()
    combine = RelativeTaskLoss(["depth", "label"])
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for batch in DataLoader(data, batch_size=8, shuffle=True):
            opt.zero_grad()
            loss = combine(task_losses(net(batch[0]), batch))
            loss.backward()  # error: [carried-graph] # raises: RuntimeError
            opt.step()
        print(epoch, {k: v[-1] for k, v in combine.history.items()})


main()
