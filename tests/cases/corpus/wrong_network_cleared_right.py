import copy
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.a, self.b = nn.Linear(5, hidden), nn.Linear(hidden, 3)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


def distil(student, teacher, x, y, T=2.0, w=0.7):
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, dim=-1)
    s = student(x)
    return w * T * T * F.kl_div(F.log_softmax(s / T, dim=-1), soft, reduction="batchmean") + (1 - w) * F.cross_entropy(s, y)


def main():
    torch.manual_seed(0)
    teacher, student = Net(32), Net(8)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    sizes = []
    for epoch in range(2):
        student.train()
        teacher.eval()
        for _ in range(4):
            x, y = torch.randn(8, 5), torch.randint(0, 3, (8,))
            student.zero_grad()
            loss = distil(student, teacher, x, y)
            loss.backward()
            optimizer.step()
            sizes.append(student.a.weight.grad.norm().item())
        scheduler.step()
    return student, sizes


student, sizes = main()
# torch: len(sizes) == 8
