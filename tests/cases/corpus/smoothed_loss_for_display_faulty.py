import torch
import torch.nn as nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


def train(model, train_loader, optimizer, criterion, epoch, beta=0.98):
    model.train()
    avg_loss = 0.0
    for batch_num, (inputs, labels) in enumerate(train_loader, start=1):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        avg_loss = beta * avg_loss + (1 - beta) * loss  # warning: [live-accumulator]
        smoothed = avg_loss / (1 - beta ** batch_num)
        if batch_num % 4 == 0:
            print("epoch %d batch %d loss %.4f" % (epoch, batch_num, smoothed))
    return smoothed


def build(in_dim, out_dim):
    return nn.Sequential(nn.Linear(in_dim, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, out_dim))


model = build(8, 3).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
loader = [(torch.randn(6, 8), torch.randint(0, 3, (6,))) for _ in range(8)]
for epoch in range(2):
    final = train(model, loader, opt, nn.CrossEntropyLoss(), epoch)
# torch: final.grad_fn is not None
