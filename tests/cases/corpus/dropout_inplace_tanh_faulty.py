import torch
from torch import nn
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

config = {"features": 10, "hidden": 20, "epochs": 2, "batch_size": 16, "lr": 3e-3, "dropout": 0.3}


class TabularNet(nn.Module):
    """Two tanh layers with dropout for regression on tables."""

    def __init__(self, features, hidden, dropout):
        super().__init__()
        self.input = nn.Linear(features, hidden)
        self.hidden = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, 1)
        self.act = nn.Tanh()
        self.drop = nn.Dropout(dropout, inplace=True)

    def forward(self, x):
        x = self.act(self.input(x))
        x = self.drop(x)  # error: [inplace-on-saved]
        x = self.act(self.hidden(x))
        return self.output(x).squeeze(-1)


class Trainer:
    def __init__(self, model, cfg):
        self.model = model
        self.cfg = cfg
        self.optimizer = Adam(model.parameters(), lr=cfg["lr"])
        self.loss_fn = nn.HuberLoss()

    def _step(self, batch):
        x, y = batch
        pred = self.model(x)
        loss = self.loss_fn(pred, y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        self.optimizer.step()
        return float(loss)

    def fit(self, loader):
        for epoch in range(self.cfg["epochs"]):
            self.model.train()
            losses = [self._step(batch) for batch in loader]
            print(f"epoch={epoch} loss={sum(losses) / len(losses):.4f}")
        return self

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        errors = [(self.model(x) - y).abs().mean() for x, y in loader]
        return torch.stack(errors).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(64, config["features"])
    y = x[:, 0] * 2 - x[:, 1].abs()
    loader = DataLoader(TensorDataset(x, y), batch_size=config["batch_size"], shuffle=True)
    net = TabularNet(config["features"], config["hidden"], config["dropout"])
    trainer = Trainer(net, config).fit(loader)
    print("MAE", trainer.score(loader))
