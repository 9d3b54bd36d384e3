import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def distance(model, anchor):
    return sum((p - q.detach()).pow(2).sum() for p, q in zip(model.parameters(), anchor.parameters()))


class Client:
    def __init__(self, data, lr=0.05, mu=0.1):
        self.data, self.lr, self.mu = data, lr, mu

    def update(self, global_model, local_steps):
        model = copy.deepcopy(global_model)
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr)
        proximal = 0.5 * self.mu * distance(model, global_model)
        for step in range(local_steps):
            x, y = self.data[step % len(self.data)]
            loss = F.cross_entropy(model(x), y) + proximal
            optimizer.zero_grad()
            loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
            optimizer.step()
        return model.state_dict(), loss.item()


def average(states):
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def main(rounds=2):
    torch.manual_seed(3)
    server = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    clients = [Client([(torch.randn(5, 4), torch.randint(0, 2, (5,))) for _ in range(2)]) for _ in range(3)]
    for r in range(rounds):
        results = [client.update(server, local_steps=3) for client in clients]
        server.load_state_dict(average([state for state, _ in results]))
        print(f"round {r}: {sum(loss for _, loss in results) / len(results):.4f}")


if __name__ == "__main__":
    main()
