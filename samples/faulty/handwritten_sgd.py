"""Linear regression from scratch: no nn.Module, no optimizer, only autograd."""

import torch


def synthetic_data(w, num_examples):
    """y = Xw + noise; the last column of X is one, its weight the bias."""
    X = torch.normal(0, 1, (num_examples, len(w)))
    X[:, -1] = 1.0
    y = torch.matmul(X, w)
    y += torch.normal(0, 0.01, y.shape)
    return X, y.reshape(-1, 1)


def data_iter(batch_size, features, labels):
    indices = torch.randperm(len(features))
    for i in range(0, len(features), batch_size):
        batch = indices[i : i + batch_size]
        yield features[batch], labels[batch]


def linreg(X, w):
    return torch.matmul(X, w)


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def train(features, labels, lr, num_epochs, batch_size):
    w = torch.normal(0, 0.01, size=(features.size(1), 1), requires_grad=True)
    for epoch in range(num_epochs):
        for X, y in data_iter(batch_size, features, labels):
            loss = squared_loss(linreg(X, w), y).mean()
            loss.backward()
            w = w - lr * w.grad
        with torch.no_grad():
            train_loss = squared_loss(linreg(features, w), labels)
            print(f"epoch {epoch + 1}, loss {float(train_loss.mean()):f}")
    return w.detach()


def main():
    torch.manual_seed(42)
    true_w = torch.tensor([2.0, -3.4, 4.2])
    features, labels = synthetic_data(true_w, 200)
    w = train(features, labels, lr=0.1, num_epochs=3, batch_size=20)
    print("error in estimating w:", true_w - w.reshape(true_w.shape))


if __name__ == "__main__":
    main()
