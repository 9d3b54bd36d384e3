"""Fixes edit like a careful person: comments, layout, line ends and arguments that are there already stay."""

from __future__ import annotations

import pytest

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.cli.fix import fix_document
from gradpath.cli.run import Checked
from gradpath.config import Config
from gradpath.diagnostic import Diagnostic, Edit, Fix, Level, Position, Range, Safety
from gradpath.source.document import Document
from gradpath.source.edits import apply_edits

BEFORE = "import torch\nw = torch.rand(3, requires_grad=True)\nkw = {}\nloss = w.exp().sum()\n"
AGAIN = "(loss * loss).backward()\n"
KEEP, ADD, DELETE = "Keep the graph", "Add the losses", "Delete the second call"

NET = (
    "class Net(torch.nn.Module):\n\tdef __init__(self):\n\t\tsuper().__init__()\n\t\tself.h = w.detach()\n\n"
    "\tdef forward(self):\n\t\tself.h = (self.h * w).exp()\n\t\treturn self.h.sum()\n\n\nnet = Net()\n"
)
CALL = "\tout.backward(\n\t\tgradient=None,  # the usual\n\t)  # back\n"

LAYOUTS = {
    "an argument that is there already": (
        KEEP,
        f"loss.backward(retain_graph=False)\n{AGAIN}",
        f"loss.backward(retain_graph=True)\n{AGAIN}",
    ),
    "a call over several lines": (
        KEEP,
        f"loss.backward(\n    gradient=None,  # the usual\n)\n{AGAIN}",
        f"loss.backward(\n    gradient=None, retain_graph=True,  # the usual\n)\n{AGAIN}",
    ),
    "a comma at the end": (
        KEEP,
        f"loss.backward(\n    None,\n)\n{AGAIN}",
        f"loss.backward(\n    None, retain_graph=True,\n)\n{AGAIN}",
    ),
    "several statements on a line": (
        KEEP,
        "x = 1; loss.backward(); (loss * loss).backward()\n",
        "x = 1; loss.backward(retain_graph=True); (loss * loss).backward()\n",
    ),
    "a block on one line": (
        KEEP,
        f"with torch.enable_grad(): loss.backward()\n{AGAIN}",
        f"with torch.enable_grad(): loss.backward(retain_graph=True)\n{AGAIN}",
    ),
    "a lambda": (
        KEEP,
        f"go = lambda: loss.backward()\ngo()\n{AGAIN}",
        f"go = lambda: loss.backward(retain_graph=True)\ngo()\n{AGAIN}",
    ),
    "a comprehension": (
        KEEP,
        "[each.backward() for each in (loss, loss * loss)]\n",
        "[each.backward(retain_graph=True) for each in (loss, loss * loss)]\n",
    ),
    "a line that goes on": (
        KEEP,
        f"loss \\\n    .backward()\n{AGAIN}",
        f"loss \\\n    .backward(retain_graph=True)\n{AGAIN}",
    ),
    "tabs and a comment": (
        ADD,
        "if w.requires_grad:\n\tloss.backward()\t# one\n\t(loss * loss).backward()  # two\n",
        "if w.requires_grad:\n\t# one\n\t(loss + (loss * loss)).backward()  # two\n",
    ),
    "the last of several statements on a line": (
        DELETE,
        "loss.backward()\nx = 1; loss.backward()  # again\n",
        "loss.backward()\nx = 1  # again\n",
    ),
    "a line behind a call over several lines": (
        "Detach `net.h`",
        f"{NET}for _ in range(2):\n\tout = net() + net()\n{CALL}\n\t# next\n\tout = 1\n",
        f"{NET}for _ in range(2):\n\tout = net() + net()\n{CALL}\tnet.h = net.h.detach()\n\n\t# next\n\tout = 1\n",
    ),
    "a comment at the top of a block that goes": (
        "Take `with torch.no_grad():`",
        "with torch.no_grad():\n    # the loss\n    # again\n    loss = w.exp().sum()  # here\nloss.backward()\n",
        "# the loss\n# again\nloss = w.exp().sum()  # here\nloss.backward()\n",
    ),
    "what stands between": (
        DELETE,
        "loss.backward()  # first\n# between\n\nloss.backward()\nx = 1\n",
        "loss.backward()  # first\n# between\n\nx = 1\n",
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_stays(layout: str, newline: str) -> None:
    title, text, fixed = LAYOUTS[layout]
    assert applied(text.replace("\n", newline), title, newline) == fixed.replace("\n", newline)


@pytest.mark.parametrize(
    "text",
    [
        f"loss.backward(**kw)\n{AGAIN}",  # Who knows what is in it.
        "loss.backward(*())\n" + AGAIN,
    ],
)
def test_where_the_syntax_leaves_doubt_no_argument_is_added(text: str) -> None:
    assert applied(text, KEEP, "\n") is None


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (  # A named tuple keeps its fields.
            "Write into a copy",
            "from collections import namedtuple\npair = namedtuple('Pair', 'left right')(torch.stack([w, w]), 1)\n"
            "a, b = pair.left.unbind(0)\npair.left.add_(1)\na.sum().backward()\n",
        ),
        (  # An optimizer refuses what is then no leaf.
            "Write into a copy",
            "x = torch.stack([w, w])\na, b = x.unbind(0)\nx.mul_(2)\ntorch.optim.SGD([a], lr=0.1)\n",
        ),
        (  # Where the branch is not taken, nothing binds the name.
            "Move line",
            "h = w.exp()\nif w.sum() > 0.1:\n    for _ in range(2):\n        h.sum().backward()\nprint(h)\n",
        ),
        (  # What had failed before goes through, and leads to a failure before the fault.
            KEEP,
            "big = loss * loss\ntorch.autograd.grad(loss, w)\n"
            "try:\n    big.backward()\nexcept RuntimeError:\n    pass\nelse:\n    None.t()\nbig.backward()\n",
        ),
        (  # A mask selects by truth values.
            "Use",
            "p = w * 2\nchosen = p > 0.5\nx = torch.rand(3)[chosen].mean()\n(x * chosen.float().mean()).backward()\n",
        ),
        (  # The same call fails then because of the write, for which nothing safe is offered.
            KEEP,
            "out = w + w\ntotal = (out * out).mean()\ntotal.backward()\n"
            "try:\n    total.exp().backward()\nexcept RuntimeError:\n    pass\n"
            "out.mul_(0.5)\ntotal -= out.sum().clone()\nloss = 2.0 - 0.0 / total\nloss.backward()\n",
        ),
        *(  # What is a number then, is not taken for a tensor.
            (
                "Keep the number",
                "total = 0.0\nfor _ in range(4):\n    loss = w.exp().sum()\n    loss.backward()\n"
                f"    total += loss\n{use}\n",
            )
            for use in (
                "torch.where(total > 3, w, -w)",
                "torch.log(total)",
                "torch.stack([total, total])",
                "torch.minimum(w, total)",
                "w.maximum(total)",
                "torch.nn.functional.mse_loss(w.sum(), total)",
                "total.data = w",
            )
        ),
        (  # The module is made further down.
            "Give the optimizer",
            "fc = torch.nn.Linear(3, 1)\noptimizer = torch.optim.SGD(fc.parameters(), lr=0.1)\nfor _ in range(2):\n"
            "    optimizer.zero_grad()\n    head = torch.nn.Linear(3, 1)\n    head(w).sum().backward()\n"
            "    optimizer.step()\n",
        ),
        *(  # No module is called.
            (
                "Give the optimizer",
                "fc = torch.nn.Linear(3, 1)\noptimizer = torch.optim.SGD(fc.parameters(), lr=0.1)\n"
                "scale = torch.nn.Parameter(torch.rand(3))\n\n\ndef scaled(x):\n    return scale * x\n\n\n"
                f"for _ in range(2):\n    optimizer.zero_grad()\n    {use}.sum().backward()\n    optimizer.step()\n",
            )
            for use in ("scale.abs()", "torch.exp(scale)", "scaled(2)")
        ),
        (  # The attribute is another tensor by then.
            "Compute line",
            "class Holder:\n    pass\n\n\nself = Holder()\nself.w = w\ncost = (self.w * w).sum()\ncost.backward()\n"
            "for self.w in [torch.rand(3)]:\n    print(self.w)\ncost.backward()\n",
        ),
        (  # The greatest is what is back-propagated.
            "Use",
            "x = torch.outer(w, w)\nloss = x.detach().max().detach().requires_grad_()\nloss.backward(torch.ones(()))\n",
        ),
        (  # The attribute is gone by then.
            "Compute line",
            "class Holder:\n    pass\n\n\nself = Holder()\nself.w = w\ncost = (self.w * w).sum()\ncost.backward()\n"
            "del self.w\ncost.backward()\n",
        ),
        (  # The gradient of a power has saved the parameter, which the step changes.
            KEEP,
            "optimizer = torch.optim.SGD([w], lr=0.1)\n"
            "x = w - 0.1 * torch.autograd.grad((w**2).sum(), w, create_graph=True)[0]\n"
            "(x**2).sum().backward()\noptimizer.step()\nx.sum().backward()\n",
        ),
        (  # So does a write that is no step.
            KEEP,
            "x = w - 0.1 * torch.autograd.grad((w**2).sum(), w, create_graph=True)[0]\n"
            "(x**2).sum().backward()\ntorch.nn.init.zeros_(w)\nx.sum().backward()\n",
        ),
        (  # Another branch reads the attribute, and has not called the method before.
            "Compute `self.scale`",
            "class Scaled(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.weight = torch.nn.Parameter(torch.rand(3))\n        self.scale = self.weight.exp()\n\n"
            "    def forward(self, x):\n        return (x * self.scale).sum()\n\n\nmodel = Scaled()\n"
            "if w.sum() > 2:\n    for _ in range(2):\n        model(w).backward()\n"
            "else:\n    print(model.scale.detach())\n",
        ),
        (  # It ran whatever the condition was.
            "Use",
            "s = w.exp().sum().detach().requires_grad_()\ns.backward(retain_graph=torch.rand(1).item() > 0.5)\n"
            "s.backward()\n",
        ),
        (  # A list is filled before it is read.
            "Move line",
            "cell, cache, h = nn.RNNCell(3, 3), [], torch.zeros(2, 3)\nfor n in range(3):\n"
            "    h = cell(h.sigmoid(), h)\n    cache.append(h.clone())\n"
            "torch.stack(cache).sum().backward()\ncache[-1].mean().backward()\n",
        ),
        (  # The new tensor would carry its graph into the next iteration.
            "Make a new tensor",
            "optimizer = torch.optim.SGD([w], lr=0.1)\nfor _ in range(2):\n    w.clamp_(0, 1)\n"
            "    optimizer.zero_grad()\n    (w**2).sum().backward()\n    optimizer.step()\n",
        ),
        (  # The power has saved the same tensor, which is only known where its exponent is.
            "Save a copy",
            "h = torch.outer(w, w).exp()\ny = torch.matrix_power(h, 3).sum()\nh.exp_()\ny.backward()\n",
        ),
    ],
)
def test_a_fix_that_leads_to_another_failure_is_not_offered(title: str, text: str) -> None:
    assert check(Document("train.py", BEFORE + text)).diagnostics
    assert applied(text, title, "\n") is None


def test_a_fix_holds_for_each_combination_of_branches() -> None:
    text = (
        "def pick(x):\n    if torch.rand(1) > 0.5:\n        return w.square()\n"
        "    (x * w.exp()).sum().backward()\n    return torch.zeros(3)\n\n\n"
        "out = pick(torch.ones(3))\npick(out.clone())\ncost = (w.exp() * out).sum()\n"
    )
    after = applied(f"{text}cost.backward()\n(cost * cost).backward()\n", "Run line 14 again", "\n")
    again = "out = pick(torch.ones(3))\ncost = (w.exp() * out).sum()\n"  # Where both took the first branch, `out` too.
    assert after == f"{text}cost.backward()\n{again}(cost * cost).backward()\n"


def test_what_is_known_to_be_one_tensor_is_not_stacked() -> None:
    text = "for _ in range(2):\n    (w + {}).sum().backward()\n    w.grad = None\n"
    after = applied(text.format("torch.tensor(w.sort().values)"), "Use the tensor itself", "\n")
    assert after == text.format("w.sort().values")


def test_an_item_is_cloned_not_its_list() -> None:
    text = "cache = [w * 2, w]\nout = cache[0] * w\ncache[0] += 1\n{}.sum().backward()\n"
    after = applied(text.format("out"), "Save a copy", "\n")
    assert after == text.format("out").replace("cache[0] * w", "cache[0].clone() * w")


def test_what_may_give_several_values_is_not_cloned() -> None:
    text = "gru = torch.nn.GRU(3, 3)\nout = gru(w[None])[0]\nsquare = (out**2).sum()\nout.detach().add_(1)\n"
    (found,) = mended(check(Document("train.py", f"{BEFORE}{text}square.backward()\n"))).diagnostics
    assert found.rule == "inplace-on-saved"
    assert not [fix for fix in found.fixes if "gru" in fix.title]


def test_a_moved_statement_takes_its_comment_along() -> None:
    text = (
        "for step in range(2):\n    optimizer = torch.optim.SGD([w], lr=0.1)\n"
        "    torch.nn.utils.clip_grad_norm_([w], 1.0)  # keep it tame\n    loss = w.exp().sum()\n"
        "    loss.backward()  # back\n    optimizer.step()\n    optimizer.zero_grad()\n"
    )
    after = applied(text, "after the backward", "\n")
    assert after is not None
    assert "    loss.backward()  # back\n    torch.nn.utils.clip_grad_norm_([w], 1.0)  # keep it tame\n" in after


def applied(text: str, title: str, newline: str) -> str | None:
    """The text after the first fix whose title has a part; None where there is none."""
    before = BEFORE.replace("\n", newline)
    document = Document("train.py", before + text)
    offered = [fix for each in mended(check(document)).diagnostics for fix in each.fixes if fix.edits]
    fix = next((fix for fix in offered if title in fix.title), None)
    return None if fix is None else apply_edits(document, fix.edits).removeprefix(before)


def test_fixes_that_undo_each_other_leave_the_text_as_it_was() -> None:
    def checked(text: str) -> Checked:
        # Each text is said to be better off as the other one.
        other = {"a\n": "b\n", "b\n": "a\n"}[text]
        place = Range(Position(1, 1), Position(2, 1))
        fix = Fix(f"Write {other}", Safety.SAFE, (Edit("x.py", place, other),), preferred=True)
        found = Diagnostic("x.py", place, "double-backward", "graph", Level.WARNING, "no", fixes=(fix,))
        return Checked("x.py", Document("x.py", text), (found,))

    document = Document("x.py", "a\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradpath.cli.fix.check_document", lambda after, config: checked(after.text))
        fixed = fix_document(document, Config(), (Safety.SAFE,), checked("a\n"))
    assert (fixed.after.text, fixed.count) == ("a\n", 0)


def test_fixes_that_hold_alone_are_not_applied_together_where_that_fails() -> None:
    text = "import torch\none = torch.ones(3)\ntwo = torch.ones(3)\n(two if one is None else one).sum()\n"

    def checked(after: str) -> Checked:
        # Each of the two may go, it is said, as long as nothing has gone.
        places = [Range(Position(line, 7), Position(line, 20)) for line in (2, 3) if after == text]
        fixes = [Fix("Drop it", Safety.SAFE, (Edit("x.py", place, "None"),), preferred=True) for place in places]
        found = [
            Diagnostic("x.py", place, "live-accumulator", "graph", Level.WARNING, "no", fixes=(fix,))
            for place, fix in zip(places, fixes, strict=True)
        ]
        return Checked("x.py", Document("x.py", after), tuple(found))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradpath.cli.fix.check_document", lambda after, config: checked(after.text))
        fixed = fix_document(Document("x.py", text), Config(), (Safety.SAFE,), checked(text))
    assert (fixed.after.text, fixed.count) == (text.replace("one = torch.ones(3)", "one = None"), 1)


def test_no_fix_moves_what_a_function_reads_past_its_call() -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\ndef fit(model, x):\n    for _ in range(2):\n"
        "        (model(x).mean() - middle).pow(2).backward()\n\n\n"
        "prior, model = nn.Linear(1, 1), nn.Linear(3, 1)\n"
        "middle = prior(torch.ones(1)).sum()\nscores = [fit(model, x) for x in torch.rand(3, 4, 3)]\n"
    )
    (found,) = mended(check(Document("a.py", text))).diagnostics
    texts = [apply_edits(Document("a.py", text), fix.edits) for fix in found.fixes if fix.edits]
    assert texts
    assert all(each.index("middle = ") < each.index("scores = ") for each in texts)
