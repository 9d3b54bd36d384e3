import torch
import torch.nn as nn


class Attack:
    def __init__(self, name, model):
        self.attack, self.model = name, model
        self.device = next(model.parameters()).device

    def forward(self, *args):
        raise NotImplementedError

    def __call__(self, *args, **kwargs):
        training = self.model.training
        self.model.eval()
        images = self.forward(*args, **kwargs)
        if training:
            self.model.train()
        return images


class PGD(Attack):
    def __init__(self, model, eps=0.3, alpha=2 / 255, steps=3):
        super().__init__("PGD", model)
        self.eps, self.alpha, self.steps = eps, alpha, steps

    def forward(self, images, labels):
        images = images.clone().detach().to(self.device)
        labels = labels.clone().detach().to(self.device)
        loss_fn = nn.CrossEntropyLoss()
        delta = torch.zeros_like(images).uniform_(-self.eps, self.eps)
        delta.requires_grad_(True)
        for _ in range(self.steps):
            outputs = self.model(images + delta)
            cost = loss_fn(outputs, labels)
            (grad,) = torch.autograd.grad(cost, delta)
            with torch.no_grad():
                delta += self.alpha * grad.sign()
                delta.clamp_(-self.eps, self.eps)
        return torch.clamp(images + delta, 0, 1).detach()


def adversarial_epoch(model, attack, optimizer, batches):
    model.train()
    for x, y in batches:
        x_adv = attack(x, y)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x_adv), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    attack = PGD(model)
    batches = [(torch.rand(4, 1, 4, 4), torch.randint(0, 3, (4,))) for _ in range(2)]
    print(adversarial_epoch(model, attack, optimizer, batches))


if __name__ == "__main__":
    main()
