import torch.nn as nn

from .positional import PositionalEncoding


class TransformerLM(nn.Module):
    def __init__(self, vocab, dim, heads, layers, max_len):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = PositionalEncoding(dim, max_len)
        layer = nn.TransformerEncoderLayer(dim, heads, dim_feedforward=2 * dim, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.head(self.encoder(self.position(self.embed(tokens))))
