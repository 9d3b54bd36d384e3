"""Causes of unknown values that tell what such a value is all the same."""

from __future__ import annotations

COUNTER_TESTS = frozenset({"arithmetic of a counter", "comparison of a counter"})
"""Causes that tell that the program has asked for more of a late counter than is known."""

DATA = COUNTER_TESTS | frozenset(
    {
        "all",
        "any",
        "arithmetic that fails",
        "attribute of a constant",
        "callable",
        "comparison of a number",
        "comparison of dicts",
        "comparison of lists",
        "comparison of tuples",
        "dim",
        "dtype",
        "file",
        "float",
        "hasattr",
        "id",
        "identity",
        "index of an item",
        "int",
        "is_contiguous",
        "is_cuda",
        "is_floating_point",
        "is_leaf",
        "is_tensor",
        "isinstance",
        "issubclass",
        "item of a text",
        "large number",
        "length",
        "membership",
        "membership in a tensor",
        "method of a constant",
        "negation",
        "number",
        "number of a range",
        "number that a loop changed",
        "numel",
        "numpy array",
        "requires_grad",
        "shape",
        "size",
        "sum of numbers",
        "text",
        "training",
        "type",
        "type expression",
    }
)
"""Causes that tell what an unknown value is all the same: a number, a truth value, a text, an array."""
