"""Face-recognition style training: softmax loss plus a center loss with an optimizer of its own."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, x, labels):
        return (x - self.centers[labels]).pow(2).sum(dim=1).clamp(min=1e-12, max=1e12).mean()


class FeatureNet(nn.Module):
    def __init__(self, in_dim, feat_dim, num_classes):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 3, padding=1)
        self.prelu = nn.PReLU()
        self.fc1 = nn.Linear(4 * in_dim, feat_dim)
        self.fc2 = nn.Linear(feat_dim, num_classes)

    def forward(self, x):
        x = self.prelu(self.conv(x.unsqueeze(1))).flatten(1)
        features = self.fc1(x)
        return features, self.fc2(features)


def train(model, criterion_xent, criterion_cent, optimizer_model, optimizer_cent, loader, weight_cent):
    model.train()
    xent_total = cent_total = 0.0
    for data, labels in loader:
        features, outputs = model(data)
        loss_xent = criterion_xent(outputs, labels)
        loss_cent = weight_cent * criterion_cent(features, labels)
        optimizer_model.zero_grad()
        optimizer_cent.zero_grad()
        loss_xent.backward()
        optimizer_model.step()
        optimizer_cent.step()  # warning: [step-without-backward]
        xent_total += loss_xent.item()
        cent_total += loss_cent.item()
    print(f"xent {xent_total / len(loader):.4f} cent {cent_total / len(loader):.4f}")


def main():
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(torch.randn(32, 8), torch.randint(0, 3, (32,))), batch_size=8, shuffle=True)
    model = FeatureNet(8, 4, 3)
    criterion_cent = CenterLoss(3, 4)
    optimizer_model = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    optimizer_cent = torch.optim.SGD(criterion_cent.parameters(), lr=0.5)
    for _ in range(2):
        train(model, nn.CrossEntropyLoss(), criterion_cent, optimizer_model, optimizer_cent, loader, weight_cent=0.1)
    return criterion_cent


if __name__ == "__main__":
    center_loss = main()

# torch: center_loss.centers.grad is None
