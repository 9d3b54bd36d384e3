import torch
import torch.nn as nn
from models.resnet import resnet10
from torch.utils.data import DataLoader, TensorDataset


def train_one_epoch(model, criterion, data_loader, optimizer, device, print_freq=2):
    model.train()
    for i, (images, target) in enumerate(data_loader):
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()  # raises: RuntimeError "modified by an inplace operation"
        optimizer.step()
        if i % print_freq == 0:
            accuracy = output.argmax(1).eq(target).float().mean().item()
            print(f"[{i}/{len(data_loader)}] loss {loss.item():.4f} acc {accuracy:.3f}")


@torch.inference_mode()
def evaluate(model, criterion, data_loader, device):
    model.eval()
    total = 0.0
    for images, target in data_loader:
        total += criterion(model(images.to(device)), target.to(device)).item()
    return total / len(data_loader)


def main(epochs=2):
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = TensorDataset(torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,)))
    loader = DataLoader(dataset, batch_size=4, shuffle=True)
    model = resnet10(num_classes=4).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1], gamma=0.1)
    for epoch in range(epochs):
        train_one_epoch(model, criterion, loader, optimizer, device)
        scheduler.step()
        print(f"epoch {epoch}: val {evaluate(model, criterion, loader, device):.4f}")


if __name__ == "__main__":
    main()
