import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.tasks = nn.ModuleDict({"seg": nn.Linear(8, 3), "depth": nn.Linear(8, 1)})

    def forward(self, x):
        h = torch.relu(self.body(x))
        return {t: head(h) for t, head in self.tasks.items()}

    def losses(self, out, target):
        return {
            "seg": nn.functional.cross_entropy(out["seg"], target["seg"]),
            "depth": nn.functional.l1_loss(out["depth"], target["depth"]),
        }


def reduce_dict(losses):
    return {k: v.item() for k, v in losses.items()}


model = MultiTask()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(4, 4)
    target = {"seg": torch.randint(0, 3, (4,)), "depth": torch.rand(4, 1)}
    loss_dict = model.losses(model(x), target)
    loss_dict_reduced = reduce_dict(loss_dict)
    total = sum(loss_dict.values())
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
