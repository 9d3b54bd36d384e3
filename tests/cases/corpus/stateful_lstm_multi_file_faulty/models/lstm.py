import torch
from torch import nn


class ForecastLSTM(nn.Module):
    def __init__(self, n_features, hidden=6, layers=2):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, 1)
        self.hidden = None

    def reset_state(self):
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return self.fc(out[:, -1])
