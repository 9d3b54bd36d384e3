import numpy as np
import torch
import torch.nn as nn


class Vocab:
    def __init__(self, words):
        self.itos = ["<pad>", "<unk>", *words]
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)


class TextCNN(nn.Module):
    def __init__(self, vocab, vectors, dim=5, widths=(2, 3)):
        super().__init__()
        self.embedding = nn.Embedding(len(vocab), dim, padding_idx=0)
        self.load_pretrained(vocab, vectors)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 4, w, padding=1) for w in widths])
        self.fc = nn.Linear(4 * len(widths), 2)

    def load_pretrained(self, vocab, vectors):
        hits = 0
        for word, index in vocab.stoi.items():
            if word in vectors:
                self.embedding.weight[index] = torch.from_numpy(vectors[word])  # error: [inplace-on-leaf] # raises: RuntimeError "leaf Variable"
                hits += 1
        print("pretrained vectors:", hits)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        pooled = [torch.relu(conv(x)).max(dim=2).values for conv in self.convs]
        return self.fc(torch.cat(pooled, dim=1))


words = ["good", "bad", "film"]
vectors = {w: np.random.randn(5).astype("float32") for w in words[:2]}
model = TextCNN(Vocab(words), vectors)
optimizer = torch.optim.Adadelta(model.parameters())
for _ in range(2):
    loss = nn.functional.cross_entropy(model(torch.randint(0, 5, (3, 6))), torch.tensor([0, 1, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
