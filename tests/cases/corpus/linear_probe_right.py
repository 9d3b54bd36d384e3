import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.mixer = nn.TransformerEncoderLayer(width, 2, 24, dropout=0.0, batch_first=True)

    def forward(self, x):
        tokens = self.patch(x).flatten(2).transpose(1, 2)
        return self.mixer(tokens).mean(dim=1)


@torch.no_grad()
def extract_features(backbone, images, batch_size=8):
    backbone.eval()
    features = [backbone(chunk) for chunk in images.split(batch_size)]
    return F.normalize(torch.cat(features), dim=1)


def train_probe(probe, features, labels, epochs, batch_size, lr):
    optimizer = torch.optim.SGD(probe.parameters(), lr=lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        for start in range(0, len(features), batch_size):
            x = features[start : start + batch_size]
            y = labels[start : start + batch_size]
            logits = probe(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


@torch.inference_mode()
def probe_accuracy(probe, features, labels):
    return (probe(features).argmax(dim=1) == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    images, labels = torch.randn(40, 3, 8, 8), torch.randint(0, 4, (40,))
    backbone = Backbone()
    features = extract_features(backbone, images)
    probe = nn.Linear(features.size(1), 4)
    train_probe(probe, features, labels, epochs=2, batch_size=10, lr=0.1)
    print(f"accuracy {probe_accuracy(probe, features, labels):.2%}")


if __name__ == "__main__":
    main()
