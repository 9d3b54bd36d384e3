"""Observes a real PyTorch, by behaviour, and writes the op table that `gradpath.autograd.ops` reads.

Not part of the product: it needs torch, the product never does. Run it as `python -m observe OUT.json`.
"""
