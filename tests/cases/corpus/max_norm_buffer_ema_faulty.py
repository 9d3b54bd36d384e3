import torch
from torch import nn


class VectorQuantizerEMA(nn.Module):
    def __init__(self, num, dim, decay=0.99, commitment=0.25):
        super().__init__()
        self.num, self.decay, self.commitment = num, decay, commitment
        self.register_buffer("embedding", torch.randn(num, dim))
        self.register_buffer("cluster_size", torch.zeros(num))
        self.register_buffer("embed_avg", self.embedding.clone())

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        distances = torch.cdist(flat, self.embedding)
        indices = distances.argmin(dim=1)
        one_hot = nn.functional.one_hot(indices, self.num).type(flat.dtype)
        quantized = (one_hot @ self.embedding).view_as(z)
        if self.training:
            self.cluster_size = self.decay * self.cluster_size + (1 - self.decay) * one_hot.sum(0)
            self.embed_avg = self.decay * self.embed_avg + (1 - self.decay) * one_hot.t() @ flat  # warning: [live-accumulator]
            n = self.cluster_size.sum()
            smoothed = (self.cluster_size + 1e-5) / (n + self.num * 1e-5) * n
            self.embedding = self.embed_avg / smoothed.unsqueeze(1)
        loss = self.commitment * nn.functional.mse_loss(quantized.detach(), z)
        return z + (quantized - z).detach(), loss, indices


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.vq = VectorQuantizerEMA(8, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))

    def forward(self, x):
        z, vq_loss, _ = self.vq(self.encoder(x))
        return self.decoder(z), vq_loss


def train(model, optimizer, data):
    model.train()
    errors = []
    for x in data:
        optimizer.zero_grad()
        recon, vq_loss = model(x)
        loss = nn.functional.mse_loss(recon, x) + vq_loss
        loss.backward()
        optimizer.step()
        errors.append(loss.item())
    return sum(errors) / len(errors)


if __name__ == "__main__":
    net = VQVAE()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, amsgrad=False)
    print(train(net, opt, torch.rand(4, 5, 6)))
# torch: net.vq.embed_avg.requires_grad
