"""Mean teacher: supervised loss plus a consistency term with a ramped-up weight."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Student(nn.Module):
    def __init__(self, features=6, hidden=16, classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.supervised = nn.Linear(hidden, classes)
        self.consistency = nn.Linear(hidden, classes)

    def forward(self, x):
        h = self.body(x)
        return self.supervised(h), self.consistency(h)


def sigmoid_rampup(step, length):
    return math.exp(-5.0 * (1.0 - min(step, length) / length) ** 2)


def update_ema(student, teacher, alpha):
    for ema_param, param in zip(teacher.parameters(), student.parameters()):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


def consistency_loss(student_logits, teacher_logits):
    target = teacher_logits.detach().softmax(dim=1)
    return F.mse_loss(student_logits.softmax(dim=1), target)


def train(student, teacher, optimizer, labelled, unlabelled, steps, max_weight=5.0):
    x_l, y = labelled
    for step in range(steps):
        x = torch.cat([x_l, unlabelled])
        class_logits, cons_logits = student(x + 0.1 * torch.randn_like(x))
        with torch.no_grad():
            teacher_logits, _ = teacher(x + 0.1 * torch.randn_like(x))
        class_loss = F.cross_entropy(class_logits[: len(y)], y)
        weight = max_weight * sigmoid_rampup(step, steps)
        cons_loss = weight * consistency_loss(cons_logits, teacher_logits).item()  # warning: [unreached-parameter]
        loss = class_loss + cons_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_ema(student, teacher, alpha=0.95)
        print(f"step {step}: {class_loss.item():.4f} + {float(cons_loss):.4f}")


def main():
    torch.manual_seed(0)
    student = Student()
    teacher = copy.deepcopy(student)
    for param in teacher.parameters():
        param.detach_()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    labelled = (torch.randn(12, 6), torch.randint(0, 3, (12,)))
    train(student, teacher, optimizer, labelled, torch.randn(24, 6), steps=6)
    return student


if __name__ == "__main__":
    student = main()

# torch: student.consistency.weight.grad is None
