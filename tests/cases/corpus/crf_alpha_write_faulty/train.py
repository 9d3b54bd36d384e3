import torch
from tagger import Tagger

torch.manual_seed(0)
model = Tagger(vocab=30, tags=5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    words, tags = torch.randint(0, 30, (4, 6)), torch.randint(0, 5, (4, 6))
    lengths = torch.tensor([6, 5, 3, 4])
    nll = model(words, tags, lengths)
    optimizer.zero_grad()
    nll.backward()  # raises: RuntimeError
    optimizer.step()
    print(f"epoch {epoch} nll {nll.item():.3f}")
