import torch
from torch import nn


class SoftEmbedding(nn.Module):
    def __init__(self, wte, n_tokens=3):
        super().__init__()
        self.wte, self.n_tokens = wte, n_tokens
        self.learned = nn.Parameter(wte.weight[:n_tokens].clone().detach())

    def forward(self, tokens):
        learned = self.learned.repeat(tokens.size(0), 1, 1)
        return torch.cat([learned, self.wte(tokens[:, self.n_tokens :])], 1)


class GPT(nn.Module):
    def __init__(self, vocab=14, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 16, batch_first=True, dropout=0.0)
        self.lm_head = nn.Linear(dim, vocab)

    def get_input_embeddings(self):
        return self.wte

    def set_input_embeddings(self, module):
        self.wte = module

    def forward(self, ids, labels):
        logits = self.lm_head(self.block(self.wte(ids)))
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


def freeze(model):
    for param in model.parameters():
        param.requires_grad_(False)


def main():
    model = GPT()
    freeze(model)
    model.set_input_embeddings(SoftEmbedding(model.get_input_embeddings()))
    optimizer = torch.optim.AdamW([model.wte.learned], lr=0.1)
    for _ in range(2):
        ids = torch.randint(0, 14, (2, 6))
        outputs = model(ids, labels=ids)
        outputs["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
