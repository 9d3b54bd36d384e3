import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class HousePriceModel(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.linear1 = nn.Linear(n_features, 12)
        self.linear2 = nn.Linear(12, 1)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x))).squeeze(1)


def grad_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()


def train(model, train_loader, loss_fn, optimizer, device, log):
    model.train()
    running_loss = 0.0
    for batch, (features, price) in enumerate(train_loader):
        features, price = features.to(device), price.to(device)
        prediction = model(features)
        loss = loss_fn(prediction, price)
        loss.backward()  # warning: [missing-zero-grad]
        log.append(grad_norm(model))
        optimizer.step()
        running_loss += loss.item()
        if batch % 4 == 3:
            print(f"batch {batch}: {running_loss / 4:.4f}")
            running_loss = 0.0


def validate(model, loader, loss_fn, device):
    model.eval()
    with torch.no_grad():
        losses = [loss_fn(model(x.to(device)), y.to(device)).item() for x, y in loader]
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(0)
    device = torch.device("cpu")
    features = torch.rand(96, 5)
    price = 3.0 * features.sum(dim=1) + 2.0
    train_loader = DataLoader(TensorDataset(features[:64], price[:64]), batch_size=8)
    val_loader = DataLoader(TensorDataset(features[64:], price[64:]), batch_size=32)
    model = HousePriceModel(5).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    norms = []
    for epoch in range(2):
        train(model, train_loader, nn.MSELoss(), optimizer, device, norms)
        print("validation", validate(model, val_loader, nn.MSELoss(), device))
    return norms


if __name__ == "__main__":
    norms = main()

# At this tiny learning rate each batch's own gradient is about the same; the sum of all of them grows.
# torch: norms[-1] > 10 * norms[0]
