import torch
from losses import elbo_terms
from models import BetaVAE
from torch.utils.data import DataLoader, TensorDataset


def train(model, loader, optimizer, beta, epochs):
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for (x,) in loader:
            reconstruction, mu, logvar = model(x)
            recon, kl = elbo_terms(reconstruction, x, mu, logvar)
            loss = recon + beta * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


def kl_gradient(model, x):
    """Norm of the KL term's own gradient in the layer that makes the variances."""
    model.zero_grad()
    reconstruction, mu, logvar = model(x)
    _, kl = elbo_terms(reconstruction, x, mu, logvar)
    return torch.autograd.grad(kl, model.logvar.weight)[0].norm().item() if kl.requires_grad else 0.0


def main():
    torch.manual_seed(0)
    data = torch.randn(48, 10)
    model = BetaVAE(10, 12, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    train(model, DataLoader(TensorDataset(data), batch_size=12, shuffle=True), optimizer, beta=4.0, epochs=2)
    return kl_gradient(model, data)


if __name__ == "__main__":
    kl_grad = main()

# torch: kl_grad == 0
