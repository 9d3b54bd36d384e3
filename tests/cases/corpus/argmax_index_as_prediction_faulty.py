"""Rating prediction: the network gives a distribution over the five stars."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class Ratings(Dataset):
    def __init__(self, n=120, users=10, items=15):
        g = torch.Generator().manual_seed(3)
        self.user = torch.randint(0, users, (n,), generator=g)
        self.item = torch.randint(0, items, (n,), generator=g)
        self.stars = torch.randint(1, 6, (n,), generator=g).float()

    def __len__(self):
        return len(self.stars)

    def __getitem__(self, i):
        return {"user": self.user[i], "item": self.item[i], "stars": self.stars[i]}


class NCF(nn.Module):
    def __init__(self, users, items, k=8):
        super().__init__()
        self.user = nn.Embedding(users, k)
        self.item = nn.Embedding(items, k)
        self.mlp = nn.Sequential(nn.Linear(2 * k, 32), nn.ReLU(), nn.Linear(32, 5))
        self.register_buffer("levels", torch.arange(1.0, 6.0))

    def forward(self, batch):
        z = torch.cat((self.user(batch["user"]), self.item(batch["item"])), dim=-1)
        p = self.mlp(z).softmax(-1)
        stars, index = torch.max(p, dim=-1)
        return self.levels[index]


class Fitter:
    def __init__(self, model, train_set, valid_set, batch_size=16):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size, shuffle=True)
        self.valid_loader = DataLoader(valid_set, batch_size)
        self.loss = nn.MSELoss()
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for batch in self.train_loader:
                self.opt.zero_grad()
                out = self.model(batch)
                loss = self.loss(out, batch["stars"])
                loss.backward()  # warning: [detached-loss] # raises: RuntimeError
                self.opt.step()
            print(f"epoch {epoch}: rmse {self.validate():.3f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = n = 0
        for batch in self.valid_loader:
            total += self.loss(self.model(batch), batch["stars"]) * len(batch["stars"])
            n += len(batch["stars"])
        return (total / n).sqrt().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    data = Ratings()
    train_set, valid_set = random_split(data, [100, 20])
    Fitter(NCF(10, 15), train_set, valid_set).fit(2)
