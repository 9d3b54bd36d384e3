import torch
import torch.nn as nn
import torch.nn.functional as F


class LightGCN(nn.Module):
    def __init__(self, n_users, n_items, dim=8, layers=2):
        super().__init__()
        self.n_users, self.n_items, self.layers = n_users, n_items, layers
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.register_buffer("graph", torch.softmax(torch.rand(n_users + n_items, n_users + n_items), -1))
        self._cache = None

    @property
    def embeddings(self):
            e = torch.cat([self.user.weight, self.item.weight])
            outs = [e]
            for _ in range(self.layers):
                e = F.leaky_relu(self.graph @ e)
                outs.append(e)
            return torch.stack(outs).mean(0)

    def bpr_loss(self, users, pos, neg):
        u_emb, i_emb = self.embeddings.split([self.n_users, self.n_items])
        u, p, n = u_emb[users], i_emb[pos], i_emb[neg]
        return -F.logsigmoid((u * p).sum(-1) - (u * n).sum(-1)).mean()


model = LightGCN(5, 7)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    aver_loss = 0.0
    for _ in range(2):
        users, pos, neg = torch.randint(0, 5, (4,)), torch.randint(0, 7, (4,)), torch.randint(0, 7, (4,))
        loss = model.bpr_loss(users, pos, neg)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        aver_loss += loss.cpu().item()
    print(f"epoch {epoch}: {aver_loss:.3f}")
