import torch
import torch.nn as nn
from snn.encoding import rate_encode
from snn.network import SpikingMLP
from torch.utils.data import DataLoader, TensorDataset

TIME_STEPS = 4


def forward_pass(net, data):
    spikes = [net(frame) for frame in rate_encode(data, TIME_STEPS)]
    return torch.stack(spikes).mean(0)


def train(net, loader, criterion, optimizer, epochs):
    for epoch in range(epochs):
        correct = total = 0
        for data, targets in loader:
            rates = forward_pass(net, data)
            loss = criterion(rates, targets)
            optimizer.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
            optimizer.step()
            correct += (rates.argmax(1) == targets).sum().item()
            total += targets.size(0)
        print(f"epoch {epoch}: accuracy {correct / total:.2f}")


def main():
    torch.manual_seed(0)
    dataset = TensorDataset(torch.rand(32, 12), torch.randint(0, 3, (32,)))
    loader = DataLoader(dataset, batch_size=8, drop_last=True)
    net = SpikingMLP([12, 16, 3], beta=0.9)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    train(net, loader, nn.CrossEntropyLoss(), optimizer, epochs=2)


if __name__ == "__main__":
    main()
