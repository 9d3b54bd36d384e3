import torch
from torch import nn


class Retriever(nn.Module):
    def __init__(self, docs, dim):
        super().__init__()
        self.doc_emb = nn.EmbeddingBag(docs, dim)
        self.query = nn.Linear(5, dim)
        self.index = None

    def build_index(self, n):
        self.index = self.doc_emb(torch.arange(n).unsqueeze(1))

    def forward(self, q):
        return torch.tanh(self.query(q)) @ torch.tanh(self.index).t()


model = nn.DataParallel(Retriever(6, 4))
raw = model.module if hasattr(model, "module") else model
raw.build_index(6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for i in range(3):
    q, y = torch.randn(4, 5), torch.randint(0, 6, (4,))
    loss = nn.functional.cross_entropy(model(q), y)
    optimizer.zero_grad()
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
