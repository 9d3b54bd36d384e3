import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader

PAD_IDX, UNK_IDX = 0, 1
VOCAB, DIM = 25, 8


def pretrained_vectors():
    generator = torch.Generator().manual_seed(9)
    return torch.randn(VOCAB, DIM, generator=generator)


class TextLSTM(nn.Module):
    def __init__(self, vectors, hidden=10, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM, padding_idx=PAD_IDX)
        self.lstm = nn.LSTM(DIM, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * hidden, classes)
        self.load_vectors(vectors)

    def load_vectors(self, vectors):
        with torch.no_grad():
            self.embedding.weight[2:] = vectors[2:]

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.fc(self.dropout(torch.cat([hidden[-2], hidden[-1]], dim=1)))


def collate(batch):
    lengths = torch.tensor([len(tokens) for tokens, _ in batch])
    tokens = torch.full((len(batch), int(lengths.max())), PAD_IDX)
    for row, (sequence, _) in enumerate(batch):
        tokens[row, : len(sequence)] = sequence
    return tokens, lengths, torch.tensor([label for _, label in batch])


def make_corpus(n=30):
    corpus = []
    for i in range(n):
        length = int(torch.randint(3, 8, ()))
        corpus.append((torch.randint(2, VOCAB, (length,)), i % 2))
    return corpus


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_corpus(), batch_size=6, shuffle=True, collate_fn=collate)
    model = TextLSTM(pretrained_vectors())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        epoch_loss = 0
        for tokens, lengths, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens, lengths), labels)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch}: {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    main()
