"""Knowledge distillation: a student learns the labels and the features of a frozen teacher."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self, in_features, width, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(in_features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        features = self.body(x)
        return self.head(features), features


class FeatureAdapter(nn.Module):
    """Maps the teacher's features to the width of the student's."""

    def __init__(self, teacher_width, student_width):
        super().__init__()
        self.proj = nn.Linear(teacher_width, student_width)

    def forward(self, features):
        return F.normalize(self.proj(features), dim=-1)


@torch.inference_mode()
def teacher_forward(teacher, x):
    logits, features = teacher(x)
    return logits.div(4.0).softmax(dim=-1), features


def train_epoch(student, teacher, adapter, loader, optimizer):
    student.train()
    adapter.train()
    kl = nn.KLDivLoss(reduction="batchmean")
    meter = {"ce": 0.0, "kd": 0.0, "feat": 0.0}
    for x, y in loader:
        soft_targets, teacher_features = teacher_forward(teacher, x)
        logits, features = student(x)
        ce = F.cross_entropy(logits, y)
        student_log_probs = F.log_softmax(logits / 4.0, dim=-1)
        kd = kl(student_log_probs, soft_targets)
        feat = 1 - (F.normalize(features, dim=-1) * adapter(teacher_features)).sum(dim=-1).mean()
        loss = ce + 8.0 * kd + 0.1 * feat
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, value in (("ce", ce), ("kd", kd), ("feat", feat)):
            meter[name] += value.item() / len(loader)
    return meter


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(64, 10), torch.randint(0, 4, (64,)))
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    teacher = Backbone(10, 48, 4).eval().requires_grad_(False)
    student = Backbone(10, 16, 4)
    adapter = FeatureAdapter(48, 16)
    optimizer = torch.optim.Adam(list(student.parameters()) + list(adapter.parameters()), lr=1e-3)
    for epoch in range(2):
        print(epoch, train_epoch(student, teacher, adapter, loader, optimizer))


if __name__ == "__main__":
    main()
