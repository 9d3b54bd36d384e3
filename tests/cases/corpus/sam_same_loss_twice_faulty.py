import torch
import torch.nn as nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = torch.norm(
            torch.stack([p.grad.norm(p=2) for group in self.param_groups for p in group["params"] if p.grad is not None]),
            p=2,
        )
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


class MultiTask(nn.Module):
    def __init__(self, tasks=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(8, 1) for _ in range(tasks)])

    def forward(self, x):
        z = self.body(x)
        return [head(z) for head in self.heads]


def get_loss(output, target, t):
    return nn.functional.binary_cross_entropy_with_logits(output[t].squeeze(1), target[:, t])


def train(model, loader, optimizer, num_tasks=3):
    for image, target in loader:
        output = model(image)
        loss = 0
        for t in range(num_tasks):
            loss += get_loss(output, target, t)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        output = model(image)
        for t in range(num_tasks):
            loss += get_loss(output, target, t)
        loss.backward()  # error: [double-backward] # raises: RuntimeError "second time"
        optimizer.second_step(zero_grad=True)
        print(loss.item())


if __name__ == "__main__":
    model = MultiTask()
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    train(model, [(torch.rand(4, 6), torch.bernoulli(torch.full((4, 3), 0.5))) for _ in range(2)], optimizer)
