import torch.nn as nn

from .crf import LinearCRF


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * dim, tags)
        self.crf = LinearCRF(tags)

    def forward(self, words, tags, lengths):
        h, _ = self.lstm(self.embed(words))
        return self.crf(self.emit(h), tags, lengths)
