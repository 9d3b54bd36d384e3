import torch
import torch.nn as nn
import torch.nn.functional as F


class Tap:
    """Keeps what a layer gave in the last pass."""

    def __init__(self, layer):
        self.value = None
        layer.register_forward_hook(self)

    def __call__(self, module, args, output):
        self.value = output.detach()  # warning: [unreached-parameter]


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 8)
        self.adapter = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        return self.head(h), self.adapter(h)


torch.manual_seed(0)
student = Student()
teacher = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_(False)
hint = Tap(student.adapter)
opt_main = torch.optim.SGD([*student.stem.parameters(), *student.head.parameters()], lr=0.1)
opt_hint = torch.optim.SGD(student.adapter.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    logits, _ = student(x)
    loss = F.cross_entropy(logits, y)
    target = teacher[1](teacher[0](x))
    loss = loss + 0.5 * F.mse_loss(hint.value, target)
    opt_main.zero_grad()
    opt_hint.zero_grad()
    loss.backward()
    opt_main.step()
    opt_hint.step()
# torch: student.adapter.weight.grad is None
