import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(20, 8)
        self.encoder = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])

    def forward(self, ids):
        x = self.embeddings(ids)
        for layer in self.encoder:
            x = torch.relu(layer(x))
        return x.mean(1)


class Classifier(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bert = Backbone()
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(8, n)

    def forward(self, ids):
        return self.fc(self.dropout(self.bert(ids)))


model = Classifier(3)
for name, param in model.named_parameters():
    if "classifier" not in name:
        param.requires_grad = False

optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
criterion = nn.CrossEntropyLoss()
num_trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
print("trainable", num_trainable)
for epoch in range(2):
    for ids, y in [(torch.randint(0, 20, (4, 6)), torch.randint(0, 3, (4,)))]:
        model.train()
        optimizer.zero_grad()
        logits = model(ids)
        loss = criterion(logits, y)
        loss.backward()  # error: [detached-loss] # raises: RuntimeError "does not require grad"
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
