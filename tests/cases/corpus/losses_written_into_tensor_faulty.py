"""A fit whose losses are written into a tensor."""

import torch
import torch.nn as nn

x = torch.linspace(0, 1, 30).unsqueeze(1)
y = 3 * x + 0.1 * torch.randn_like(x)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
n_epochs = 5
losses = torch.zeros(n_epochs)

for epoch in range(n_epochs):
    y_hat = model(x)
    loss = nn.functional.mse_loss(y_hat, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses[epoch] = loss  # warning: [live-accumulator]
    print(f"epoch {epoch} loss {loss:.4f}")

# torch: losses.requires_grad
