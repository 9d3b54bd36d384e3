from argparse import Namespace


def load(path=None, **overrides):
    base = dict(lr=1e-3, epochs=2, grad_clip=1.0, amp=False, width=12)
    base.update(overrides)
    return Namespace(**base)
