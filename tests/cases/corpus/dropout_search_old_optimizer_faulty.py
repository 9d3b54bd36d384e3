"""A search over dropout rates that makes a new model for each."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, p=0.1):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(10, 32)
        self.fc2 = nn.Linear(32, 2)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.fc2(self.drop(torch.relu(self.fc1(x))))


def get_data():
    x = torch.randn(48, 10)
    return DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=12)


def run(dropouts=(0.0, 0.3), epochs=2):
    results = {}
    train_loader = get_data()
    criterion = nn.CrossEntropyLoss()
    model = Net()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for p in dropouts:
        model = Net(p)
        initial = model.fc1.weight.clone()
        for epoch in range(epochs):
            running = 0.0
            for i, (inputs, labels) in enumerate(train_loader, 0):
                optimizer.zero_grad()
                outputs = model(inputs)
                loss = criterion(outputs, labels)
                loss.backward()
                optimizer.step()  # warning: [step-without-backward]
                running += loss.item()
            print("p %.1f epoch %d loss %.3f" % (p, epoch + 1, running / (i + 1)))
        results[p] = torch.equal(initial, model.fc1.weight)
    return results


if __name__ == "__main__":
    results = run()

# torch: all(results.values())
