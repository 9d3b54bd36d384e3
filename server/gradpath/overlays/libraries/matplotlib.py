"""Matplotlib, which draws arrays: it refuses tensors that require grad, and lists of them, as NumPy does."""

from __future__ import annotations

from gradpath.overlays.libraries.numpy import refusing
from gradpath.overlays.namespace import Names

_OF_ONE = "axhline axvline boxplot contour contourf hist imshow matshow pcolormesh pie violinplot"

_OF_TWO = "bar barh errorbar fill_between hist2d loglog scatter semilogx semilogy stem step"

_MODULES = ("matplotlib.pyplot", "matplotlib.pylab", "pylab")

NAMES: Names = {
    f"{module}.{name}": refusing(f"{module}.{name}", operands)
    for module in _MODULES
    for names, operands in ((_OF_ONE, 1), (_OF_TWO, 2), ("plot", None))
    for name in names.split()
}

GENERAL = True
