import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

HORIZON = 5
STATE = 3


class DynamicsModel(nn.Module):
    """Predicts the next state of a small dynamical system and rolls itself out."""

    def __init__(self, state_dim=STATE, hidden=16):
        super().__init__()
        self.fc_in = nn.Linear(state_dim, hidden)
        self.fc_out = nn.Linear(hidden, state_dim)

    def step(self, state):
        return state + 0.1 * self.fc_out(torch.tanh(self.fc_in(state)))

    def rollout(self, initial, horizon):
        states = torch.zeros(initial.size(0), horizon + 1, initial.size(1))
        states[:, 0] = initial
        for t in range(horizon):
            states[:, t + 1] = self.step(states[:, t])  # error: [inplace-on-saved]
        return states


def simulate(n):
    matrix = torch.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.2], [0.0, -0.2, -0.1]])
    state = torch.randn(n, STATE)
    trajectory = [state]
    for _ in range(HORIZON):
        state = state + 0.1 * state @ matrix.t()
        trajectory.append(state)
    return torch.stack(trajectory, dim=1)


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        total = 0.0
        for (trajectory,) in loader:
            predicted = model.rollout(trajectory[:, 0], HORIZON)
            loss = F.mse_loss(predicted, trajectory)
            optimizer.zero_grad()
            loss.backward()  # raises: RuntimeError "modified by an inplace operation"
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.5f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(simulate(48)), batch_size=12, shuffle=True)
    model = DynamicsModel()
    train(model, loader, torch.optim.Adam(model.parameters(), lr=1e-2), epochs=3)


if __name__ == "__main__":
    main()
