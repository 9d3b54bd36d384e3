import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class LeNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = torch.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3)))


def train_loop(dataloader, model, loss_fn, optimizer):
    model.train()
    num_batches = len(dataloader)
    train_loss, correct = 0, 0
    for X, y in dataloader:
        pred = model(X)
        loss = loss_fn(pred, y)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        train_loss += loss  # warning: [live-accumulator]
        correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    return train_loss / num_batches, correct / len(dataloader.dataset)


def test_loop(dataloader, model, loss_fn):
    model.eval()
    num_batches = len(dataloader)
    test_loss = 0
    with torch.no_grad():
        for X, y in dataloader:
            test_loss += loss_fn(model(X), y)
    return test_loss / num_batches


def run(model, train_dataloader, test_dataloader, epochs):
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for t in range(epochs):
        train_loss, accuracy = train_loop(train_dataloader, model, loss_fn, optimizer)
        test_loss = test_loop(test_dataloader, model, loss_fn)
        print(f"Epoch {t + 1}: train {train_loss:>7f}, test {test_loss:>7f}, accuracy {100 * accuracy:>0.1f}%")
    return train_loss, test_loss


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(48, 1, 10, 10), torch.randint(0, 5, (48,)))
    train_set, test_set = random_split(data, [32, 16])
    return run(LeNet(), DataLoader(train_set, batch_size=8, shuffle=True), DataLoader(test_set, batch_size=8), epochs=2)


if __name__ == "__main__":
    last_train_loss, last_test_loss = main()

# torch: last_train_loss.requires_grad
# torch: not last_test_loss.requires_grad
