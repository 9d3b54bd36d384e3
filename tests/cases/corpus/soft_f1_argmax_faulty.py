import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SoftF1(nn.Module):
    def __init__(self, epsilon=1e-7):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, y_pred, y_true):
        assert y_pred.ndim == 2
        y_true = F.one_hot(y_true, 2).to(torch.float32)
        y_pred = F.one_hot(torch.argmax(y_pred, dim=1), 2).to(torch.float32)
        tp = (y_true * y_pred).sum(dim=0).to(torch.float32)
        fp = ((1 - y_true) * y_pred).sum(dim=0).to(torch.float32)
        fn = (y_true * (1 - y_pred)).sum(dim=0).to(torch.float32)
        precision = tp / (tp + fp + self.epsilon)
        recall = tp / (tp + fn + self.epsilon)
        f1 = 2 * (precision * recall) / (precision + recall + self.epsilon)
        f1 = f1.clamp(min=self.epsilon, max=1 - self.epsilon)
        return 1 - f1.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 3)
        self.bn = nn.BatchNorm1d(4)
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        return self.fc(x.mean(-1))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dataset = TensorDataset(torch.randn(32, 1, 12), torch.randint(0, 2, (32,)))
loader = DataLoader(dataset, batch_size=8, shuffle=True)
net = Net().to(device)
f1_loss = SoftF1().to(device)
optimizer = torch.optim.Adam(net.parameters())

for epoch in range(2):
    running = 0.0
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = f1_loss(outputs, labels)
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        optimizer.step()
        running += loss.item() * inputs.size(0)
    print(epoch, running / len(dataset))
