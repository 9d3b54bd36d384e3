import torch
import torch.nn as nn
import torch.nn.functional as F


class Victim(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).mean(dim=(2, 3)))


def attack(model, images, target, size=3, steps=3, lr=0.1):
    patch = torch.rand(3, size, size, requires_grad=True)
    for step in range(steps):
        pasted = images.clone()
        pasted[:, :, :size, :size] = patch
        loss = F.cross_entropy(model(pasted), target)
        grad = torch.autograd.grad(loss, patch)[0]
        patch -= lr * grad.sign()  # error: [inplace-on-leaf] # raises: RuntimeError "a leaf Variable"
        patch.clamp_(0, 1)
        print(step, loss.item())
    return patch.detach()


model = Victim().eval()
for p in model.parameters():
    p.requires_grad_(False)
patch = attack(model, torch.rand(2, 3, 8, 8), torch.tensor([1, 1]))
print(patch.shape)
