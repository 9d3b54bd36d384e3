"""Lesson 4: what backward() leaves behind."""

import torch
import torch.nn as nn

torch.manual_seed(0)


def section(title):
    print(f"\n== {title} ==")


def show_gradients(model):
    for name, parameter in model.named_parameters():
        grad = "none" if parameter.grad is None else f"{parameter.grad.norm():.4f}"
        print(f"  {name}: {grad}")


class Polynomial(nn.Module):
    def __init__(self, degree=3):
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(degree + 1))

    def forward(self, x):
        powers = torch.stack([x**i for i in range(len(self.coefficients))], dim=1)
        return powers @ self.coefficients


section("One backward call")
model = Polynomial()
x = torch.linspace(-1, 1, 20)
y = torch.sin(3 * x)
loss = ((model(x) - y) ** 2).mean()
loss.backward()
show_gradients(model)

section("A second call on the same graph")
try:
    loss.backward()
except RuntimeError as error:
    print("  RuntimeError:", str(error).split(".")[0])
show_gradients(model)

section("Keeping the graph")
model.zero_grad()
loss = ((model(x) - y) ** 2).mean()
loss.backward(retain_graph=True)
once = model.coefficients.grad.clone()
loss.backward()
print("  doubled:", torch.allclose(model.coefficients.grad, 2 * once))

section("Sums need no such care")
weights = torch.ones(3, requires_grad=True)
total = (weights + 1).sum()
total.backward()
total.backward()
print("  gradient:", weights.grad.tolist())

section("Training loop")
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(20):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
print(f"  final loss {loss.item():.4f}")
