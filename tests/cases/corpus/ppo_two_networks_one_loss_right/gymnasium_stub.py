import random


class Env:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.t = 0
        return [random.random() for _ in range(4)], {}

    def step(self, action):
        self.t += 1
        return [random.random() for _ in range(4)], float(action == 1), self.t >= self.length, False, {}


def make(name):
    return Env()
