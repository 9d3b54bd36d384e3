import torch
import torch.nn as nn
from models.tgn import TemporalGraphNetwork


def event_stream(n_events, n_nodes, batch_size):
    src = torch.randint(0, n_nodes, (n_events,))
    dst = torch.randint(0, n_nodes, (n_events,))
    features = torch.randn(n_events, 4)
    for start in range(0, n_events, batch_size):
        stop = start + batch_size
        yield src[start:stop], dst[start:stop], features[start:stop]


def train(model, optimizer, criterion, epochs=2):
    for epoch in range(epochs):
        model.train()
        model.memory.reset_state()
        total = 0.0
        for src, dst, features in event_stream(60, n_nodes=12, batch_size=10):
            optimizer.zero_grad()
            model.memory.update_state(src, dst, features)
            negative = torch.randint(0, 12, dst.shape)
            pos_out = model.score(src, dst)
            neg_out = model.score(src, negative)
            loss = criterion(pos_out, torch.ones_like(pos_out))
            loss = loss + criterion(neg_out, torch.zeros_like(neg_out))
            loss.backward()
            optimizer.step()
            model.memory.detach()
            total += loss.item()
        print(f"epoch {epoch}: {total / 6:.4f}")


def main():
    torch.manual_seed(1234)
    model = TemporalGraphNetwork(n_nodes=12, dim=8, event_dim=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, optimizer, nn.BCEWithLogitsLoss())


if __name__ == "__main__":
    main()
