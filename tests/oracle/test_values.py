"""What the shadow tensors claim of the values of random programs."""

from __future__ import annotations

from .generate import generate
from .values import compare_values

PROGRAMS = 150
SEED = 2027
FACTS = ("shape", "dtype", "contiguous", "expanded")


def test_sizes_dtypes_and_layouts_are_never_wrong_and_seldom_unknown() -> None:
    """Of the shapes that PyTorch shows at calls, operators and subscripts at most one in a hundred is not known."""
    wrong, unknown, asked = [], 0, 0
    for index in range(PROGRAMS):
        program = generate(SEED, index, ("guided", "unguided")[index % 2])
        comparison = compare_values(program.text)
        asked += comparison.shapes
        for each in comparison.differences:
            fact = each.fact.rpartition(".")[2]
            unknown += fact == "shape" and not each.wrong
            if fact in FACTS and each.wrong:
                wrong.append((program.seed, each.line, each.text, each.fact, each.known, each.real))
    assert not wrong
    assert unknown <= asked / 100, f"{unknown} of {asked} shapes are not known"
