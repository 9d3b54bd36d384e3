import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hid, batch_first=True)
        self.hidden = None
        self.hid = hid

    def init_hidden(self, batch):
        return torch.zeros(1, batch, self.hid), torch.zeros(1, batch, self.hid)

    def forward(self, x, lengths):
        if self.hidden is None:
            self.hidden = self.init_hidden(x.size(0))
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        out, self.hidden = self.lstm(packed, self.hidden)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return out


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(20, 6, 8)
        self.fc = nn.Linear(8, 4)

    def forward(self, x, lengths):
        return self.fc(self.encoder(x, lengths)).log_softmax(-1)


tagger = Tagger()
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
loss_function = nn.NLLLoss()
for epoch in range(3):
    x = torch.randint(1, 20, (3, 5))
    tags = torch.randint(0, 4, (3, 5))
    tagger.zero_grad()
    scores = tagger(x, torch.tensor([5, 5, 5]))
    loss = loss_function(scores.view(-1, 4), tags.view(-1))
    loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
    optimizer.step()
