"""Self-training: pseudo-labels come from a generator that runs the teacher."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, features=6, hidden=16, classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.net(x)


def weak(x):
    return x + 0.01 * torch.randn_like(x)


def strong(x):
    return x + 0.3 * torch.randn_like(x)


def pseudo_labelled(teacher, unlabelled, batch_size, threshold=0.0):
    teacher.eval()
    for x in unlabelled.split(batch_size):
        with torch.no_grad():
            confidence, label = teacher(weak(x)).softmax(dim=1).max(dim=1)
        keep = confidence > threshold
        if keep.any():
            yield strong(x[keep]), label[keep]


def update_teacher(teacher, student, decay=0.99):
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, 1 - decay)


def train(student, teacher, unlabelled, optimizer, epochs, batch_size=10):
    for epoch in range(epochs):
        student.train()
        for x, pseudo in pseudo_labelled(teacher, unlabelled, batch_size):
            loss = F.cross_entropy(student(x), pseudo)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_teacher(teacher, student)
        print(f"epoch {epoch}: {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    student = MLP()
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.03, momentum=0.9)
    train(student, teacher, torch.randn(40, 6), optimizer, epochs=2)


if __name__ == "__main__":
    main()
