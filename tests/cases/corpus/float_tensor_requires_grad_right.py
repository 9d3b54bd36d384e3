import torch
import torch.nn as nn
import torch.nn.functional as F


class Siamese(nn.Module):
    def __init__(self):
        super(Siamese, self).__init__()
        self.cnn = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, a, b):
        return self.cnn(a), self.cnn(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, o1, o2, label):
        losses = []
        for u, v, l in zip(o1, o2, label):
            d = F.pairwise_distance(u[None], v[None])
            losses.append((1 - l) * d.pow(2) + l * torch.clamp(self.margin - d, min=0.0).pow(2))
        return torch.cat(losses).mean()


net = Siamese()
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
start = [p.detach().clone() for p in net.parameters()]
counter, loss_history = [], []
iteration_number = 0
torch.manual_seed(0)
for epoch in range(2):
    for i in range(4):
        img0, img1 = torch.randn(5, 1, 12), torch.randn(5, 1, 12)
        label = torch.randint(0, 2, (5,)).float()
        optimizer.zero_grad()
        output1, output2 = net(img0, img1)
        loss = criterion(output1, output2, label)
        loss.backward()
        optimizer.step()
        if i % 2 == 0:
            iteration_number += 2
            counter.append(iteration_number)
            loss_history.append(loss.item())
print(counter, loss_history)
# torch: not all(torch.equal(a, b) for a, b in zip(start, net.parameters()))
