import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizerEMA(nn.Module):
    def __init__(self, n, d, decay=0.99, eps=1e-5):
        super().__init__()
        self.n, self.d, self.decay, self.eps = n, d, decay, eps
        self.embedding = nn.Embedding(n, d).requires_grad_(False)
        self.register_buffer("cluster_size", torch.zeros(n))
        self.register_buffer("ema_w", self.embedding.weight.detach().clone())

    def forward(self, inputs):
        flat = inputs.reshape(-1, self.d)
        distances = flat.pow(2).sum(1, keepdim=True) + self.embedding.weight.pow(2).sum(1) - 2 * flat @ self.embedding.weight.t()
        idx = distances.argmin(1)
        onehot = F.one_hot(idx, self.n).float()
        quantized = (onehot @ self.embedding.weight).view_as(inputs)
        if self.training:
            self.cluster_size = self.cluster_size * self.decay + (1 - self.decay) * onehot.sum(0)
            dw = onehot.t() @ flat.detach()
            self.ema_w = self.ema_w * self.decay + (1 - self.decay) * dw
            size = (self.cluster_size + self.eps) / (self.cluster_size.sum() + self.n * self.eps)
            self.codes = self.ema_w / size.unsqueeze(1)
        loss = 0.25 * F.mse_loss(inputs, (onehot @ self.codes).view_as(inputs)) if self.training else 0.0
        quantized = inputs + (quantized - inputs).detach()
        return loss, quantized


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(4, 6)
        self.vq = VectorQuantizerEMA(5, 4)

    def forward(self, x):
        loss, q = self.vq(self.encoder(x))
        return loss, self.decoder(q)


model = Model()
optimizer = torch.optim.Adam([p for p in model.parameters()], lr=1e-3)
for i in range(3):
    data = torch.randn(8, 6)
    optimizer.zero_grad()
    vq_loss, recon = model(data)
    loss = F.mse_loss(recon, data) + vq_loss
    loss.backward()
    optimizer.step()
