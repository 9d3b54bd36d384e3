"""What a report quotes is, word by word, what PyTorch raises."""

from __future__ import annotations

import pytest

from gradpath.analysis.check import check
from gradpath.source.document import Document

_START = "import torch\nw, x, y = (torch.rand(2, requires_grad=True) for _ in range(3))\n"

PROGRAMS = {
    "the first input is not used": "torch.autograd.grad(w.exp().sum(), x)\n",
    "the second input is not used": "torch.autograd.grad(w.exp().sum(), [w, x])\n",
    "an input that requires no gradient": "torch.autograd.grad(w.exp().sum(), w.detach())\n",
    "no graph": "w.detach().sum().backward()\n",
    "not a scalar": "w.exp().backward()\n",
    "a leaf is written": "w += 1\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_words_of_pytorch(name: str) -> None:
    text = _START + PROGRAMS[name]
    (found,) = check(Document("train.py", text)).diagnostics
    with pytest.raises(RuntimeError) as raised:
        exec(compile(text, "train.py", "exec"), {})
    assert found.pytorch == f"RuntimeError: {raised.value}"
