import torch
import torch.nn as nn
import torch.nn.functional as F


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.activations, self.gradients = [], []
        layer.register_forward_hook(self.save_activation)

    def save_activation(self, module, inputs, output):
        self.activations.append(output.detach())
        if output.requires_grad:
            output.register_hook(lambda grad: self.gradients.append(grad.detach()))

    def map(self, index):
        a, g = self.activations[index].detach(), self.gradients[index]
        weights = g.mean(dim=(2, 3), keepdim=True)
        return F.relu((weights * a).sum(1))


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(torch.relu(self.features(x)).mean((2, 3)))


net = SmallNet()
cam = GradCAM(net, net.features[2])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    x, y = torch.rand(3, 1, 8, 8), torch.randint(3, (3,))
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(cam.map(-1).shape, len(cam.activations))
