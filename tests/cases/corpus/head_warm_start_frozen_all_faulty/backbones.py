from torch import nn


def tiny(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, stride=2), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


REGISTRY = {"tiny8": lambda: (tiny(8), 8), "tiny16": lambda: (tiny(16), 16)}


def create(name):
    return REGISTRY[name]()
