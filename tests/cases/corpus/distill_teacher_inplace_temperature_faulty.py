import torch
from torch import nn
from torch.nn import functional as F


class DistillationLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.7):
        super().__init__()
        self.temperature, self.alpha = temperature, alpha

    def forward(self, student_logits, teacher_logits, labels):
        hard = F.cross_entropy(student_logits, labels)
        p = F.softmax(student_logits, dim=1)
        p.clamp_(min=1e-6)  # error: [inplace-on-saved]
        q = F.softmax(teacher_logits / self.temperature, dim=1)
        soft = F.kl_div(p.log(), q, reduction="batchmean")
        return (1 - self.alpha) * hard + self.alpha * soft


def mlp(*dims):
    layers = []
    for i, o in zip(dims, dims[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class KDTrainer:
    def __init__(self, teacher, student, lr):
        self.teacher, self.student = teacher, student
        self.teacher.eval()
        self.loss_fn = DistillationLoss()
        self.opt = torch.optim.Adam(self.student.parameters(), lr=lr)

    def train_step(self, x, y):
        with torch.no_grad():
            t = self.teacher(x)
        s = self.student(x)
        loss = self.loss_fn(s, t, y)
        self.opt.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace"
        self.opt.step()
        return loss.item()


trainer = KDTrainer(mlp(5, 16, 3), mlp(5, 4, 3), 1e-3)
for epoch in range(2):
    for _ in range(2):
        trainer.train_step(torch.rand(6, 5), torch.randint(0, 3, (6,)))
