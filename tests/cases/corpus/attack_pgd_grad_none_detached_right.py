import torch
import torch.nn as nn
import torch.nn.functional as F


class PGD:
    def __init__(self, model, eps=0.3, alpha=0.01, steps=3, random_start=True):
        self.model = model
        self.eps, self.alpha, self.steps = eps, alpha, steps
        self.random_start = random_start

    def __call__(self, images, labels):
        return self.perturb(images, labels)

    def perturb(self, images, labels):
        adv = images.clone().detach()
        if self.random_start:
            adv = adv + torch.empty_like(adv).uniform_(-self.eps, self.eps)
            adv = torch.clamp(adv, 0, 1).detach()
        for _ in range(self.steps):
            adv.requires_grad_()
            outputs = self.model(adv)
            cost = F.cross_entropy(outputs, labels)
            grad = torch.autograd.grad(cost, adv)[0]
            adv = adv.detach() + self.alpha * grad.sign()
            delta = torch.clamp(adv - images, min=-self.eps, max=self.eps)
            adv = torch.clamp(images + delta, 0, 1)
        return adv


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4, 10)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean((2, 3)))


model = Net().eval()
attack = PGD(model)
correct = 0
for images, labels in [(torch.rand(2, 1, 8, 8), torch.randint(0, 10, (2,))) for _ in range(2)]:
    adv = attack(images, labels)
    correct += (model(adv).argmax(1) == labels).sum().item()
print(correct)
