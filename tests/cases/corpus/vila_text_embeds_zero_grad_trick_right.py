import torch
import torch.nn as nn


class MultiModal(nn.Module):
    def __init__(self, vocab=30, dim=8):
        super().__init__()
        self.vision = nn.Linear(12, dim)
        self.llm_embed = nn.Embedding(vocab, dim)
        self.soft_prompt = nn.Parameter(torch.zeros(1, 2, dim))
        self.head = nn.Linear(dim, vocab)

    def dummy_vision(self):
        return self.vision(torch.zeros(1, 12)).sum() * 0.0

    def embed(self, ids, images=None):
        prompt = self.soft_prompt
        if images is None:
            # keep the vision tower in the graph for DDP
            prompt = prompt + self.dummy_vision()
            vis = None
        else:
            vis = self.vision(images).unsqueeze(1)
        text = self.llm_embed(ids)
        parts = [prompt.expand(ids.size(0), -1, -1), text] if vis is None else [prompt.expand(ids.size(0), -1, -1), vis, text]
        return torch.cat(parts, dim=1)

    def forward(self, ids, labels, images=None):
        h = self.embed(ids, images)
        logits = self.head(h[:, -ids.size(1):])
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


model = MultiModal()
optim = torch.optim.AdamW(model.parameters())
batches = [{"ids": torch.randint(0, 30, (2, 5)), "labels": torch.randint(0, 30, (2, 5))} for _ in range(2)]
for batch in batches:
    loss = model(**batch)
    optim.zero_grad()
    loss.backward()
    optim.step()
