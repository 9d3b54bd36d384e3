import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallCNN(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, padding=1))
        self.classifier = nn.Linear(6, classes)

    def forward(self, x):
        return self.classifier(F.relu(self.features(x)).mean((2, 3)))


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.activations = self.gradients = None
        layer.register_forward_hook(self._keep)

    def _keep(self, module, inputs, output):
        self.activations = output
        if output.requires_grad:
            output.register_hook(self._keep_grad)

    def _keep_grad(self, grad):
        self.gradients = grad

    def __call__(self, x, index=None):
        self.model.eval()
        with torch.no_grad():
            scores = self.model(x)
        index = scores.argmax(dim=1) if index is None else index
        self.model.zero_grad()
        chosen = scores[torch.arange(len(x)), index].sum()
        chosen.backward()  # error: [detached-loss] # raises: RuntimeError
        weights = self.gradients.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.activations).sum(1)).detach()
        return cam / cam.amax(dim=(1, 2), keepdim=True).clamp(min=1e-6)


torch.manual_seed(0)
model = SmallCNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.rand(4, 1, 8, 8), torch.randint(0, 3, (4,))
F.cross_entropy(model(x), y).backward()
optimizer.step()
print(GradCAM(model, model.features[3])(x).shape)
