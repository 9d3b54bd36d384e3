import torch
import torch.nn.functional as F
from models.clip import TinyCLIP
from torch.utils.data import DataLoader, TensorDataset

CLASSNAMES = ["cat", "dog", "fish", "bird"]


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    loss_sum = acc_sum = 0.0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        text_features = model.encode_classes(CLASSNAMES)
        image_features = model.encode_image(images)
        logits = model.logit_scale.exp() * image_features @ text_features.t()
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item()
        acc_sum += (logits.argmax(dim=-1) == labels).float().mean().item()
    return loss_sum / len(loader), acc_sum / len(loader)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    text_features = model.encode_classes(CLASSNAMES)
    correct = 0
    for images, labels in loader:
        logits = model.encode_image(images.to(device)) @ text_features.t()
        correct += (logits.argmax(dim=-1) == labels.to(device)).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = "cpu"
    dataset = TensorDataset(torch.randn(32, 12), torch.randint(0, len(CLASSNAMES), (32,)))
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model = TinyCLIP(image_dim=12, width=10).to(device)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    for epoch in range(2):
        loss, accuracy = train_one_epoch(model, loader, optimizer, device)
        print(f"{epoch}: loss {loss:.4f}, train {accuracy:.3f}, test {evaluate(model, loader, device):.3f}")


if __name__ == "__main__":
    main()
