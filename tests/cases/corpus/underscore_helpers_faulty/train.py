import torch
import torch.nn as nn
import torch.nn.functional as F
from layers import GatedResidual
from state import rename_key_, strip_prefix_
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self, features=6, width=12, classes=3):
        super().__init__()
        self.stem = nn.Linear(features, width)
        self.block = GatedResidual(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.block(torch.relu(self.stem(x))))


def pretrained_state():
    state = {f"module.{name}": value for name, value in Model().state_dict().items()}
    rename_key_(state, "module.head.weight", "module.classifier.weight")
    return state


def load(model, state):
    strip_prefix_(state, "module.")
    rename_key_(state, "classifier.weight", "head.weight")
    model.load_state_dict(state)
    return model


def train(model, loader, optimizer, max_norm=1.0):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.randn(30, 6), torch.randint(0, 3, (30,))), batch_size=10)
    model = load(Model(), pretrained_state())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        print(epoch, train(model, loader, optimizer))


if __name__ == "__main__":
    main()
