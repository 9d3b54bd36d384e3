"""Representation and classifier have an optimizer each."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 3, padding=1)
        self.pool = nn.AdaptiveMaxPool1d(4)

    def forward(self, x):
        return self.pool(torch.relu(self.conv(x))).flatten(1)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.fc = nn.Linear(16, classes)

    def forward(self, features):
        return self.fc(features)


def get_features(encoder, x):
    return encoder(x).detach()  # warning: [unreached-parameter]


def run_epoch(encoder, classifier, batches, optims, criterion):
    hits = seen = 0
    for x, y in batches:
        for o in optims.values():
            o.zero_grad()
        logits = classifier(get_features(encoder, x))
        loss = criterion(logits, y)
        loss.backward()
        optims["encoder"].step()
        optims["classifier"].step()
        hits += (logits.argmax(1) == y).sum().item()
        seen += len(y)
    return hits / seen


torch.manual_seed(0)
encoder, classifier = Encoder(), Classifier(3)
optims = {
    "encoder": torch.optim.Adam(encoder.parameters(), lr=1e-3),
    "classifier": torch.optim.Adam(classifier.parameters(), lr=1e-2),
}
batches = [(torch.randn(6, 1, 10), torch.randint(0, 3, (6,))) for _ in range(3)]
for epoch in range(2):
    print(run_epoch(encoder, classifier, batches, optims, nn.CrossEntropyLoss()))
# torch: encoder.conv.weight.grad is None
