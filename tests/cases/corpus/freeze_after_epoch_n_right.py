import torch
import torch.nn as nn

EPOCHS = 8
FREEZE_AT = 5

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
X, Y = torch.randn(32, 4), torch.randint(0, 2, (32,))

for epoch in range(EPOCHS):
    if epoch == FREEZE_AT:
        for param in model[0].parameters():
            param.requires_grad = False
        print("frozen")
    for i in range(0, len(X), 8):
        xb, yb = X[i : i + 8], Y[i : i + 8]
        out = model(xb)
        loss = criterion(out, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
