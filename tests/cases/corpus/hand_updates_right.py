import torch


def conjugate(A, b, steps=5):
    x = torch.zeros_like(b, requires_grad=True)
    direction = None
    for _ in range(steps):
        energy = 0.5 * x @ A @ x - b @ x
        energy.backward()
        with torch.no_grad():
            direction = -x.grad if direction is None else 0.5 * direction - x.grad
            x += 0.1 * direction
        x.grad = None
    return x.detach()


def saliency_ascent(model, image, steps=4, lr=0.1):
    for _ in range(steps):
        image = image.detach().clone().requires_grad_(True)
        model(image).max().backward()
        image.data += lr * image.grad / (image.grad.abs().max() + 1e-8)
        for p in model.parameters():
            p.grad = None
    return image.detach()


def average_gradient(w, batches):
    """One update from the sum over all batches: that is what is wanted."""
    for x in batches:
        (x @ w).pow(2).mean().backward()
    w.data -= 0.1 * w.grad / len(batches)
    return w


A = torch.rand(3, 3)
print(conjugate(A @ A.t() + torch.eye(3), torch.rand(3)))
net = torch.nn.Linear(4, 3)
print(saliency_ascent(net, torch.rand(4)).shape)
print(average_gradient(torch.rand(3, requires_grad=True), list(torch.rand(5, 2, 3))))
