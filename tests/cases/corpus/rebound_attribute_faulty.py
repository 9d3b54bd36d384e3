import torch
from torch.utils.data import DataLoader, TensorDataset


class SoftmaxRegression:
    """Multinomial logistic regression with momentum, written by hand."""

    def __init__(self, n_features, n_classes, lr=0.1, momentum=0.9):
        self.W = torch.zeros(n_features, n_classes, requires_grad=True)
        self.b = torch.zeros(n_classes, requires_grad=True)
        self.lr = lr
        self.momentum = momentum
        self.velocity = torch.zeros(n_features, n_classes)

    def logits(self, X):
        return X @ self.W + self.b

    def loss(self, X, y):
        log_probs = torch.log_softmax(self.logits(X), dim=1)
        return -log_probs[torch.arange(len(y)), y].mean()

    def step(self):
        with torch.no_grad():
            self.velocity = self.momentum * self.velocity + self.W.grad  # raises: TypeError "unsupported operand type"
            self.W = self.W - self.lr * self.velocity  # error: [rebound-parameter]
            self.b -= self.lr * self.b.grad
            self.b.grad = None

    def predict(self, X):
        with torch.no_grad():
            return self.logits(X).argmax(dim=1)


def fit(model, loader, epochs):
    for epoch in range(epochs):
        for X, y in loader:
            loss = model.loss(X, y)
            loss.backward()
            model.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    X = torch.randn(60, 4)
    y = (X @ torch.randn(4, 3)).argmax(dim=1)
    model = SoftmaxRegression(4, 3)
    fit(model, DataLoader(TensorDataset(X, y), batch_size=15, shuffle=True), epochs=2)
    print("accuracy", (model.predict(X) == y).float().mean().item())


if __name__ == "__main__":
    main()
