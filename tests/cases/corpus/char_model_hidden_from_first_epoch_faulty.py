import torch
from torch import nn

text = "the quick brown fox jumps over the lazy dog "
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
data = torch.tensor([index[c] for c in text])


class CharLSTM(nn.Module):
    def __init__(self, n_tokens, n_hidden=12, n_layers=2, drop=0.2):
        super().__init__()
        self.n_layers, self.n_hidden = n_layers, n_hidden
        self.embed = nn.Embedding(n_tokens, n_hidden)
        self.lstm = nn.LSTM(n_hidden, n_hidden, n_layers, dropout=drop, batch_first=True)
        self.fc = nn.Linear(n_hidden, n_tokens)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embed(x), hidden)
        return self.fc(out.reshape(-1, self.n_hidden)), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return tuple(weight.new_zeros(self.n_layers, batch, self.n_hidden) for _ in range(2))


def windows(data, length=10):
    for i in range(0, len(data) - length - 1, length):
        yield data[i : i + length].unsqueeze(0), data[i + 1 : i + length + 1]


net = CharLSTM(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
state = net.init_hidden(1)
for epoch in range(2):
    net.train()
    for x, y in windows(data):
        net.zero_grad()
        logits, state = net(x, state)
        loss = criterion(logits, y)
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
        nn.utils.clip_grad_norm_(net.parameters(), 5)
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
