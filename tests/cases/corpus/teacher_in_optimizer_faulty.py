"""Distillation with an optimizer of the teacher."""

import argparse

import torch
import torch.nn as nn


class Student(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, h), nn.ReLU(), nn.Linear(h, 3))

    def forward(self, x):
        return self.f(x)


def distill_loss(s, t, y, T=4.0, alpha=0.7):
    soft = nn.functional.kl_div((s / T).log_softmax(1), (t / T).softmax(1), reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * nn.functional.cross_entropy(s, y)


def train_kd(student, teacher, loader, args):
    teacher.eval()
    student.train()
    optimizer = torch.optim.Adam(teacher.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for x, y in loader:
            with torch.no_grad():
                t = teacher(x)
            loss = distill_loss(student(x), t, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()  # warning: [step-without-backward]
        print("kd epoch", epoch, loss.item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    teacher, student = Student(16), Student(4)
    before = student.f[0].weight.clone()
    train_kd(student, teacher, [(torch.randn(6, 5), torch.randint(0, 3, (6,))) for _ in range(2)], args)

# torch: torch.equal(before, student.f[0].weight)
