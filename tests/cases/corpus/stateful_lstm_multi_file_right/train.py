import torch
from engine import Engine
from models.lstm import ForecastLSTM


def windows(n):
    return [(torch.rand(4, 5, 2), torch.rand(4, 1)) for _ in range(n)]


def main():
    model = ForecastLSTM(2)
    engine = Engine(model, torch.optim.Adam(model.parameters()), torch.nn.HuberLoss())
    print(engine.fit(windows(3)))


if __name__ == "__main__":
    main()
