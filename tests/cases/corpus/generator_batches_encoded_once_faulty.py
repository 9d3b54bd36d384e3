import torch
import torch.nn as nn
from itertools import islice, cycle


def encoded_batches(encoder, data, batch_size):
    features = encoder(data)
    for start in range(0, len(data), batch_size):
        yield features[start : start + batch_size]


encoder = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid())
decoder = nn.Linear(8, 4)
data = torch.randn(12, 4)
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)

for epoch in range(2):
    for i, feats in enumerate(encoded_batches(encoder, data, 4)):
        recon = decoder(feats)
        loss = (recon - data[i * 4 : i * 4 + 4]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
