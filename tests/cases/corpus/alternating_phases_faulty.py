"""Domain-adversarial training with alternating phases over one shared forward pass."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FeatureExtractor(nn.Module):
    def __init__(self, in_dim=5, width=12):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        return torch.sigmoid(self.fc2(torch.relu(self.fc1(x))))


def batches(n, size):
    for _ in range(n):
        source = torch.randn(size, 5)
        label = (source[:, 0] > 0).long()
        target = torch.randn(size, 5) + 1.0
        yield source, label, target


def domain_targets(size):
    return torch.cat([torch.zeros(size), torch.ones(size)])


def train(extractor, classifier, domain_critic, opt_main, opt_critic, n_batches=6, size=8):
    for i, (source, label, target) in enumerate(batches(n_batches, size)):
        features = extractor(torch.cat([source, target]))
        domain_logits = domain_critic(features).squeeze(1)
        domain_loss = F.binary_cross_entropy_with_logits(domain_logits, domain_targets(size))

        if i % 2 == 0:
            opt_critic.zero_grad()
            domain_loss.backward()
            opt_critic.step()
            print(f"batch {i}: domain loss {domain_loss.item():.4f}")

        class_loss = F.cross_entropy(classifier(features[:size]), label)
        opt_main.zero_grad()
        loss = class_loss - 0.1 * domain_loss
        loss.backward()  # error: [double-backward] # raises: RuntimeError "through the graph a second time"
        opt_main.step()
        print(f"batch {i}: class loss {class_loss.item():.4f}")


def main():
    torch.manual_seed(0)
    extractor = FeatureExtractor()
    classifier = nn.Linear(12, 2)
    domain_critic = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))
    opt_main = torch.optim.Adam([*extractor.parameters(), *classifier.parameters()], lr=1e-3)
    opt_critic = torch.optim.Adam(domain_critic.parameters(), lr=1e-3)
    train(extractor, classifier, domain_critic, opt_main, opt_critic)


if __name__ == "__main__":
    main()
