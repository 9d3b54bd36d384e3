import copy

import torch
from torch import nn
import torch.nn.functional as F


class MeanTeacher(nn.Module):
    def __init__(self, student, alpha=0.99):
        super().__init__()
        self.student = student
        self.teacher = copy.deepcopy(student)
        self.alpha = alpha
        self.global_step = 0

    def update_teacher(self):
        alpha = min(1 - 1 / (self.global_step + 1), self.alpha)
        for ema_p, p in zip(self.teacher.parameters(), self.student.parameters()):
            ema_p.data.mul_(alpha).add_(p.data, alpha=1 - alpha)
        self.global_step += 1


def softmax_mse(a, b):
    return F.mse_loss(F.softmax(a, 1), F.softmax(b, 1))


net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
mt = MeanTeacher(net)
opt = torch.optim.SGD(mt.student.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 6)
    noise = torch.randn_like(x) * 0.1
    s_out = mt.student(x + noise)
    with torch.no_grad():
        t_out = mt.teacher(x)
    loss = softmax_mse(s_out, t_out)
    opt.zero_grad()
    loss.backward()
    opt.step()
    mt.update_teacher()
