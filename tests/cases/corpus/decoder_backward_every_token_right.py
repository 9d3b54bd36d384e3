import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(vocab, hidden), nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, tokens):
        return self.gru(self.embedding(tokens))


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(vocab, hidden), nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, token, hidden):
        output, hidden = self.gru(self.embedding(token), hidden)
        return self.out(output[:, 0]), hidden


def train_pair(encoder, decoder, optimizers, source, target):
    for optimizer in optimizers:
        optimizer.zero_grad()
    _, hidden = encoder(source)
    token = torch.zeros(source.size(0), 1, dtype=torch.long)
    total = 0.0
    for t in range(target.size(1)):
        logits, hidden = decoder(token, hidden)
        loss = F.cross_entropy(logits, target[:, t])
        total = total + loss
        token = target[:, t : t + 1]
    total.backward()
    for optimizer in optimizers:
        optimizer.step()
    return total.item() / target.size(1)


encoder, decoder = Encoder(9, 8), Decoder(9, 8)
optimizers = [torch.optim.SGD(m.parameters(), lr=0.05) for m in (encoder, decoder)]
for _ in range(2):
    print(train_pair(encoder, decoder, optimizers, torch.randint(0, 9, (2, 4)), torch.randint(0, 9, (2, 3))))
