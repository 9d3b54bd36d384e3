import numpy as np
import torch
import torch.nn as nn


def create_sinusoidal_embeddings(nb_p, dim, E):
    theta = np.array([[p / np.power(10000, 2 * (j // 2) / dim) for j in range(dim)] for p in range(nb_p)])
    E.requires_grad = False
    E[:, 0::2] = torch.FloatTensor(np.sin(theta[:, 0::2]))
    E[:, 1::2] = torch.FloatTensor(np.cos(theta[:, 1::2]))
    E.detach_()
    E.requires_grad = False


class Embeddings(nn.Module):
    def __init__(self, d_model, vocab_size, max_position_embeddings):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, d_model, padding_idx=1)
        self.position_embeddings = nn.Embedding(max_position_embeddings, d_model)
        create_sinusoidal_embeddings(
            nb_p=max_position_embeddings, dim=d_model, E=self.position_embeddings.weight
        )
        self.LayerNorm = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, input_ids):
        seq_length = input_ids.size(1)
        position_ids = torch.arange(seq_length, dtype=torch.long).unsqueeze(0).expand_as(input_ids)
        return self.LayerNorm(self.word_embeddings(input_ids) + self.position_embeddings(position_ids))


class TransformerClassifier(nn.Module):
    def __init__(self, d_model, vocab, n_out):
        super().__init__()
        self.embed = Embeddings(d_model, vocab, 16)
        layer = nn.TransformerEncoderLayer(d_model, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.dense = nn.Linear(d_model, n_out)

    def forward(self, x):
        x = self.encoder(self.embed(x))
        x, _ = torch.max(x, dim=1)
        return self.dense(x)


model = TransformerClassifier(d_model=8, vocab=20, n_out=2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.0001)
for x, y in [(torch.randint(0, 20, (3, 6)), torch.randint(0, 2, (3,)))] * 2:
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
