import torch


class LogisticRegression:
    def __init__(self, features, lr=0.1):
        self.w = torch.zeros(features, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)
        self.lr = lr

    def predict_proba(self, X):
        return torch.sigmoid(X @ self.w + self.b)

    def loss(self, X, y):
        p = self.predict_proba(X).clamp(1e-6, 1 - 1e-6)
        return -(y * p.log() + (1 - y) * (1 - p).log()).mean()

    def update(self):
        with torch.no_grad():
            self.w -= self.lr * self.w.grad
            self.b -= self.lr * self.b.grad
        self.w.grad.zero_()
        self.b.grad.zero_()

    def fit(self, X, y, epochs=10):
        history = []
        for _ in range(epochs):
            loss = self.loss(X, y)
            loss.backward()
            self.update()
            history.append(loss.item())
        return history

    def score(self, X, y):
        with torch.no_grad():
            return ((self.predict_proba(X) > 0.5).float() == y).float().mean().item()


torch.manual_seed(0)
X = torch.randn(40, 3)
y = (X.sum(1) > 0).float()
clf = LogisticRegression(3)
clf.fit(X, y)
print(clf.score(X, y))
