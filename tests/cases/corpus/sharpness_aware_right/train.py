import torch
import torch.nn as nn
from sam import SAM
from torch.utils.data import DataLoader, TensorDataset


class WideMLP(nn.Module):
    def __init__(self, features, width, classes):
        super().__init__()
        self.fc1 = nn.Linear(features, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, classes)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def train(model, loader, optimizer, criterion, device):
    model.train()
    total_loss = correct = total = 0
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)

        # first forward-backward step: climb to the neighbourhood's worst point
        predictions = model(inputs)
        loss = criterion(predictions, targets)
        loss.backward()
        optimizer.first_step(zero_grad=True)

        # second forward-backward step: the gradient there
        criterion(model(inputs), targets).backward()
        optimizer.second_step(zero_grad=True)

        total_loss += loss.item()
        correct += (predictions.argmax(1) == targets).sum().item()
        total += targets.size(0)
    return total_loss / len(loader), correct / total


def main():
    torch.manual_seed(42)
    device = torch.device("cpu")
    loader = DataLoader(TensorDataset(torch.randn(48, 6), torch.randint(0, 3, (48,))), batch_size=12, shuffle=True)
    model = WideMLP(6, 16, 3).to(device)
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
    for epoch in range(2):
        loss, accuracy = train(model, loader, optimizer, nn.CrossEntropyLoss(), device)
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.2%}")


if __name__ == "__main__":
    main()
