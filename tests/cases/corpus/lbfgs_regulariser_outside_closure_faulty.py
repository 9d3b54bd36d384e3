import torch
from torch import nn


def smoothness(field):
    return (field[1:] - field[:-1]).pow(2).mean() + (field[:, 1:] - field[:, :-1]).pow(2).mean()


class Registration:
    def __init__(self, fixed, moving, weight=0.1):
        self.fixed, self.moving, self.weight = fixed, moving, weight
        self.control = nn.Parameter(torch.zeros(3, 3))
        self.optimizer = torch.optim.LBFGS([self.control], max_iter=3, line_search_fn="strong_wolfe")

    def warp(self):
        up = nn.functional.interpolate(self.control[None, None], size=self.moving.shape, mode="bilinear")
        return self.moving + torch.tanh(up[0, 0]) * self.moving

    def iterate(self):
        penalty = self.weight * smoothness(self.control)

        def closure():
            self.optimizer.zero_grad()
            loss = (self.warp() - self.fixed).pow(2).mean() + penalty
            loss.backward()  # error: [double-backward] # raises: RuntimeError "second time"
            return loss

        return self.optimizer.step(closure).item()


def main():
    torch.manual_seed(0)
    registration = Registration(torch.rand(6, 6), torch.rand(6, 6))
    for level in range(2):
        print(level, registration.iterate())


if __name__ == "__main__":
    main()
