import copy

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            ema_v.copy_(self.decay * ema_v + (1.0 - self.decay) * model_v)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU())
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(self.trunk(x).mean(-1))


def consistency(student_logits, teacher_logits):
    return nn.functional.mse_loss(student_logits.softmax(1), teacher_logits.softmax(1))


def train(model, labelled, unlabelled, epochs):
    teacher = EMA(model, 0.999)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for epoch in range(epochs):
        for (x, y), u in zip(labelled, unlabelled):
            noise = torch.randn_like(u) * 0.1
            loss = nn.functional.cross_entropy(model(x), y)
            loss = loss + 0.5 * consistency(model(u + noise), teacher.module(u))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            teacher.update(model)


torch.manual_seed(0)
L = [(torch.rand(4, 1, 8), torch.randint(0, 3, (4,))) for _ in range(2)]
U = [torch.rand(4, 1, 8) for _ in range(2)]
train(ConvNet(), L, U, 2)
