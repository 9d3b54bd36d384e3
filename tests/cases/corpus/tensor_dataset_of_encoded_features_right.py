import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_features(backbone, images):
    backbone.eval()
    with torch.no_grad():
        return torch.cat([backbone(batch).flatten(1) for batch in images.split(4)])


backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
images, labels = torch.rand(16, 3, 8, 8), torch.randint(0, 5, (16,))
features = get_features(backbone, images)
loader = DataLoader(TensorDataset(features, labels), batch_size=4, shuffle=True)
probe = nn.Linear(4, 5)
optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
for epoch in range(2):
    correct = 0
    for feats, target in loader:
        logits = probe(feats)
        loss = nn.functional.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == target).sum().item()
