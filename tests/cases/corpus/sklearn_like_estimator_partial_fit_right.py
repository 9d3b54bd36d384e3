import numpy as np
import torch
from torch import nn


class TorchRegressor:
    def __init__(self, hidden=8, lr=0.01, l1=1e-3, epochs=3, warm_start=False):
        self.hidden, self.lr, self.l1, self.epochs, self.warm_start = hidden, lr, l1, epochs, warm_start
        self.net_ = None

    def _build(self, n_features):
        self.net_ = nn.Sequential(nn.Linear(n_features, self.hidden), nn.ReLU(), nn.Linear(self.hidden, 1))
        self.opt_ = torch.optim.Adam(self.net_.parameters(), lr=self.lr)

    def fit(self, X, y):
        X, y = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32)
        if self.net_ is None or not self.warm_start:
            self._build(X.shape[1])
        self.history_ = []
        for _ in range(self.epochs):
            for idx in np.array_split(np.random.permutation(len(X)), 2):
                pred = self.predict_tensor(X[idx])
                penalty = sum(p.abs().sum() for p in self.net_.parameters())
                loss = ((pred - y[idx]) ** 2).mean() + self.l1 * penalty
                self.opt_.zero_grad()
                loss.backward()
                self.opt_.step()
                self.history_.append(loss.item())
        return self

    def predict_tensor(self, X):
        return self.net_(X).squeeze(-1)

    def predict(self, X):
        with torch.no_grad():
            return self.predict_tensor(torch.as_tensor(X, dtype=torch.float32)).numpy()


X, y = np.random.randn(20, 3), np.random.randn(20)
reg = TorchRegressor().fit(X, y)
print(reg.predict(X[:2]))
