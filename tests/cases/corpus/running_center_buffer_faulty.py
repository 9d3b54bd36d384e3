import torch
from torch import nn


class DINOLoss(nn.Module):
    def __init__(self, out_dim, ncrops=2, teacher_temp=0.04, student_temp=0.1, momentum=0.9):
        super().__init__()
        self.student_temp, self.teacher_temp, self.momentum = student_temp, teacher_temp, momentum
        self.ncrops = ncrops
        self.register_buffer("center", torch.zeros(1, out_dim))

    def forward(self, student_output, teacher_output):
        student_out = (student_output / self.student_temp).chunk(self.ncrops)
        teacher_out = torch.softmax((teacher_output - self.center) / self.teacher_temp, dim=-1).chunk(2)
        total, n = 0, 0
        for iq, q in enumerate(teacher_out):
            for v, s in enumerate(student_out):
                if v == iq:
                    continue
                total += torch.sum(-q * torch.log_softmax(s, dim=-1), dim=-1).mean()
                n += 1
        self.update_center(teacher_output)
        return total / n

    def update_center(self, teacher_output):
        batch_center = teacher_output.mean(dim=0, keepdim=True)
        self.center = self.center * self.momentum + batch_center * (1 - self.momentum)


def head():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 4))


student, teacher = head(), head()
teacher.load_state_dict(student.state_dict())
criterion = DINOLoss(4)
optimizer = torch.optim.AdamW(student.parameters())
for it in range(3):
    views = torch.cat([torch.rand(3, 6), torch.rand(3, 6)])
    loss = criterion(student(views), teacher(views))
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    optimizer.step()
    with torch.no_grad():
        for ps, pt in zip(student.parameters(), teacher.parameters()):
            pt.mul_(0.99).add_(ps, alpha=0.01)
