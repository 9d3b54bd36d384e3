"""A stateful decoder for a stream of packets."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PacketDecoder(nn.Module):
    def __init__(self, bits=4, width=10):
        super().__init__()
        self.cell = nn.LSTMCell(bits, width)
        self.readout = nn.Linear(width, bits)

    def initial_state(self, batch_size):
        zeros = torch.zeros(batch_size, self.cell.hidden_size)
        return zeros, zeros.clone()

    def forward(self, packet, state):
        h, c = self.cell(packet, state)
        return self.readout(h), (h, c)


def detach_state(state):
    for tensor in state:
        tensor.detach()  # warning: [discarded-result]
    return state


def packets(n, batch_size, bits=4):
    previous = torch.zeros(batch_size, bits)
    for _ in range(n):
        current = torch.randint(0, 2, (batch_size, bits)).float()
        yield current, (current + previous) % 2
        previous = current


def train(decoder, optimizer, n_packets, batch_size, report_every=5):
    state = decoder.initial_state(batch_size)
    running = 0.0
    for i, (packet, target) in enumerate(packets(n_packets, batch_size), start=1):
        state = detach_state(state)
        logits, state = decoder(packet, state)
        loss = F.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
        optimizer.step()
        running += loss.item()
        if i % report_every == 0:
            print(f"{i} packets: {running / report_every:.4f}")
            running = 0.0


if __name__ == "__main__":
    torch.manual_seed(0)
    decoder = PacketDecoder()
    train(decoder, torch.optim.Adam(decoder.parameters(), lr=1e-2), n_packets=15, batch_size=6)
