import argparse

import torch as th
import torch.nn.functional as F

import gs


class Net(th.nn.Module):
    def __init__(self, dims, lr):
        super().__init__()
        self.emb = th.nn.Embedding(30, dims)
        self.w = th.nn.Linear(2 * dims, 3)
        self.lr = lr

    def create_optimizer(self):
        return th.optim.Adam(self.parameters(), lr=self.lr)

    def forward(self, adj, nodes, labels):
        h = self.emb(nodes)
        h = th.relu(self.w(th.cat([h, adj @ h], dim=-1)))
        return F.cross_entropy(h, labels)


def main(args):
    loader = [(th.randint(30, (6,)), th.randint(3, (6,)), th.rand(6, 6)) for _ in range(3)]
    trainer = gs.NodeTrainer(Net(4, args.lr))
    return trainer.fit(loader, args.num_epochs, max_grad_norm=args.max_grad_norm)


def get_argument_parser():
    parser = argparse.ArgumentParser("GSGNN")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--num-epochs", type=int, default=2)
    parser.add_argument("--max-grad-norm", type=float, default=1.0)
    return parser


if __name__ == "__main__":
    steps = main(get_argument_parser().parse_args([]))
    # torch: steps == 6
