from torch import nn


class MLP(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        layers = []
        for width in hidden:
            layers += [nn.Linear(in_features, width), nn.SiLU()]
            in_features = width
        layers.append(nn.Linear(in_features, out_features))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)
