import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0


def collate(batch):
    tokens, labels = zip(*batch)
    tokens = pad_sequence(tokens, batch_first=True, padding_value=PAD)
    return tokens, tokens.eq(PAD), torch.tensor(labels)


class MaskedSelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)

    def forward(self, x, pad_mask):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        mask = pad_mask.unsqueeze(1).expand_as(scores)
        scores[mask] = float("-inf")
        weights = F.softmax(scores, dim=-1)
        return torch.matmul(weights, v)


class SentenceClassifier(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.attention = MaskedSelfAttention(dim)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, tokens, pad_mask):
        x = self.embedding(tokens)
        x = self.attention(x, pad_mask)
        lengths = (~pad_mask).sum(1, keepdim=True)
        pooled = x.masked_fill(pad_mask.unsqueeze(-1), 0.0).sum(1) / lengths
        return self.classifier(pooled)


def run(model, iterator, optimizer, criterion):
    epoch_loss, epoch_acc = 0, 0
    model.train()
    for tokens, pad_mask, labels in iterator:
        optimizer.zero_grad()
        predictions = model(tokens, pad_mask)
        loss = criterion(predictions, labels)
        acc = (predictions.argmax(1) == labels).float().mean()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    return epoch_loss / len(iterator), epoch_acc / len(iterator)


def main():
    torch.manual_seed(1234)
    samples = [(torch.randint(1, 30, (int(n),)), i % 2) for i, n in enumerate(torch.randint(3, 9, (24,)))]
    iterator = DataLoader(samples, batch_size=6, shuffle=True, collate_fn=collate)
    model = SentenceClassifier()
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        train_loss, train_acc = run(model, iterator, optimizer, criterion)
        print(f"Epoch: {epoch + 1:02} | Train Loss: {train_loss:.3f} | Train Acc: {train_acc * 100:.2f}%")


if __name__ == "__main__":
    main()
