"""Half-typed code costs as little of the tree as possible, with the last good parse and without."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.diagnostic import Position, Range
from gradpath.source.document import Document
from gradpath.source.parse import UNPARSED, Parsed, parse
from gradpath.source.unread import unread_lines

MORE = f"*{UNPARSED}, **{UNPARSED}_"
"""The parameters that are still to come."""

GOOD = '''\
import torch


class Net(torch.nn.Module):
    """A network."""

    def __init__(self, size):
        super().__init__()
        self.layer = torch.nn.Linear(size, size)

    def forward(self, x):
        """Apply it.

        It isn't deep.
        """
        if self.training:
            x = x + 1
        elif x is None:
            return None
        else:
            x = x - 1
        return self.layer(x)


def train(model, loader):
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
    return model
'''


def document(text: str) -> Document:
    return Document("train.py", text)


def both_ways(old: str, new: str, source: str = GOOD) -> list[Parsed]:
    """The broken text parsed with the good one known, and without."""
    assert source.count(old) == 1
    broken = document(source.replace(old, new))
    with pytest.raises(SyntaxError):
        ast.parse(broken.text)
    return [parse(broken, parse(document(source))), parse(broken)]


def code(text: str) -> str:
    return ast.unparse(ast.parse(text))


@pytest.mark.parametrize(
    ("old", "new", "recovered"),
    [
        ("loss.backward()", "loss.backward(", GOOD.replace("loss.backward()", f"loss = {UNPARSED}")),
        ("loss.backward()", "loss.", GOOD.replace("loss.backward()", f"loss = {UNPARSED}")),
        ("loss.backward()", "loss.backward(foo=", GOOD.replace("loss.backward()", f"loss = {UNPARSED}")),
        ("loss.backward()", "loss.backward() loss", GOOD.replace("loss.backward()", f"loss = {UNPARSED}")),
        ("loss.backward()", "loss = 1 2", GOOD.replace("loss.backward()", f"loss = {UNPARSED}")),
        ("loss.backward()", "loss 1", GOOD.replace("loss.backward()", UNPARSED)),
        ("super().__init__()", "self.", GOOD.replace("super().__init__()", UNPARSED)),
        ("x = x + 1", "x = ", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("x = x + 1", "x += ", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("x = x + 1", "x: int = (", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("x = x + 1", "x[0] = 'abc", GOOD.replace("x = x + 1", f"x[0] = {UNPARSED}")),
        ("x = x + 1", "x, y = $", GOOD.replace("x = x + 1", f"x, y = {UNPARSED}")),
        ("x = x + 1", "x = foo(", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("x = x + 1", "x = foo(x, y=1", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("x = x + 1", "x = [foo(x", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("x = x + 1", "x = foo(y for y in x", GOOD.replace("x = x + 1", f"x = {UNPARSED}")),
        ("return None", "return (y", GOOD.replace("return None", f"return {UNPARSED}")),
        ("return None", "return foo(", GOOD.replace("return None", f"return {UNPARSED}")),
        ("loss.backward()", "foo(bar(x", GOOD.replace("loss.backward()", UNPARSED)),
        ("return None", "return foo.", GOOD.replace("return None", f"return {UNPARSED}")),
        ("return None", "raise Foo(1 2)", GOOD.replace("return None", f"raise {UNPARSED}")),
        ("for x, y in loader:", "for x, y in loader", GOOD),
        ("for x, y in loader:", "for x, y in :", GOOD.replace("in loader:", f"in {UNPARSED}:")),
        ("for x, y in loader:", "for x, y in loader(:", GOOD.replace("in loader:", f"in {UNPARSED}:")),
        ("for x, y in loader:", "for", GOOD.replace("for x, y in loader:", f"for {UNPARSED} in {UNPARSED}:")),
        ("if self.training:", "if self.", GOOD.replace("if self.training:", f"if {UNPARSED}:")),
        ("elif x is None:", "elif x is :", GOOD.replace("x is None:", f"{UNPARSED}:")),
        ("else:", "else", GOOD),
        ("else:", "else if x:", GOOD),
        ("class Net(torch.nn.Module):", "class Net(torch.nn.Module", GOOD),
        ("class Net(torch.nn.Module):", "class Net(torch.nn.Module)", GOOD),
        ("class Net(torch.nn.Module):", "class Net(torch.nn.:", GOOD.replace("(torch.nn.Module)", "")),
        ("def forward(self, x):", "def forward(self, x", GOOD.replace("self, x):", f"self, x, {MORE}):")),
        ("def forward(self, x):", "def forward(self, x)", GOOD),
        ("def forward(self, x):", "def forward(self, x:", GOOD.replace("self, x):", f"self, x, {MORE}):")),
        ("def forward(self, x):", "def forward(self, x=):", GOOD.replace("(self, x):", f"({MORE}):")),
        ("def forward(self, x):", "def forward", GOOD.replace("(self, x):", f"({MORE}):")),
        ("def train(", "@torch.no_grad(\ndef train(", GOOD.replace("def train(", "@torch.no_grad()\ndef train(")),
        ("import torch\n", "import torch\nfrom torch import (\n", GOOD.replace("torch\n", "torch\npass\n", 1)),
        ("import torch\n", "import\n", GOOD.replace("import torch\n", "pass\n")),
    ],
)  # fmt: skip
def test_the_smallest_part_is_replaced(old: str, new: str, recovered: str) -> None:
    for found in both_ways(old, new):
        assert ast.unparse(found.tree) == code(recovered)
        assert found.problems
        assert not found.complete


@pytest.mark.parametrize(
    ("new", "recovered"),
    [
        ("        with torch.no_grad():\n", "        with torch.no_grad():\n            pass\n"),
        ("        if x:\n", "        if x:\n            pass\n"),
        ("        while (x\n", f"        while {UNPARSED}:\n            pass\n"),
        ("        try:\n", ""),
        ("x = foo()\n", "        x = foo()\n"),
        ("y\n", "        y\n"),
        ("              y = 1\n", "        y = 1\n"),
        ("      y = 1\n", "        y = 1\n"),
        ("        else:\n", ""),
        ('        """Half a comment\n', f"        {UNPARSED}\n"),
        ("        x = '''half a text\n", f"        x = {UNPARSED}\n"),
        ("        x = [1, 2,\n", f"        x = {UNPARSED}\n"),
        ("        x = {'a': (1,\n", f"        x = {UNPARSED}\n"),
        ("        @property\n", ""),
        ("        )\n", f"        {UNPARSED}\n"),
        ("        $\n", f"        {UNPARSED}\n"),
    ],
)
def test_a_line_half_typed_in_a_method_leaves_the_rest_alone(new: str, recovered: str) -> None:
    line = "        super().__init__()\n"
    for found in both_ways(line, line + new):
        assert ast.unparse(found.tree) == code(GOOD.replace(line, line + recovered))


def test_a_lost_quote_of_a_docstring_costs_its_function_alone() -> None:
    for old, new in [('"""Apply it', '""Apply it'), ('        """\n        if', '        ""\n        if')]:
        for found in both_ways(old, new):
            [net] = [node for node in found.tree.body if isinstance(node, ast.ClassDef)]
            assert [node.name for node in net.body if isinstance(node, ast.FunctionDef)] == ["__init__", "forward"]
            [train] = [node for node in found.tree.body if isinstance(node, ast.FunctionDef)]
            assert ast.unparse(train) == code(GOOD[GOOD.index("def train") :])


def test_a_string_that_rightly_holds_definitions_is_not_blamed() -> None:
    source = f'TEMPLATE = """\ndef inner():\n    pass\n"""\n\n\ndef f():\n    """Doc."""\n    return 1\n\n\n{GOOD}'
    for found in both_ways('"""Doc."""', '"""Doc.', source):
        functions = [node.name for node in found.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        assert functions == ["f", "Net", "train"]
        assert isinstance(found.tree.body[0], ast.Assign)


def test_a_try_without_its_handler_keeps_its_block() -> None:
    for found in both_ways("    return model\n", "    try:\n        y = 1\n    return model\n"):
        assert "if 1:\n        y = 1\n    return model" in ast.unparse(found.tree)


def test_match_cases_are_recovered_one_by_one() -> None:
    source = "match x:\n    case [a, b]:\n        y = a\n    case A(b=1):\n        y = b\n    case _:\n        y = 0\n"
    for found in both_ways("case A(b=1):", "case A(b=:", source):
        assert ast.unparse(found.tree) == code(source.replace("A(b=1)", f"_ if {UNPARSED}"))
    for found in both_ways("y = b", "y = (", source):
        assert ast.unparse(found.tree) == code(source.replace("y = b", f"y = {UNPARSED}"))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_positions_of_what_is_left_match_the_text(newline: str) -> None:
    source = "é = 'ü'\nif é: y = é\nbroken(\nclass Ä:\n\tdef f(self):\n\t\tß = é\n".replace("\n", newline)
    found = parse(document(source))
    assert found.problems
    names = [node for node in ast.walk(found.tree) if isinstance(node, ast.Name) and node.id != UNPARSED]
    assert [found.document.slice(found.document.range_of(name)) for name in names].count("é") == 4
    assert all(found.document.slice(found.document.range_of(name)) == name.id for name in names)


def test_a_problem_covers_what_is_missing_and_says_why() -> None:
    [problem] = parse(document("x = 1\n  # comment\ny = foo(1,\n        2 3)  # comment\nz = 3\n")).problems
    assert problem.range == Range(Position(3, 1), Position(4, 13))
    assert "\n" not in problem.message
    assert problem.message.startswith("invalid syntax")


def test_a_block_ends_where_its_last_statement_does() -> None:
    found = parse(document("class A:\n    def f(self):\n        if x:\n            y = 1\n        z = (\n\nw = 1\n"))
    [a, _] = found.tree.body
    assert isinstance(a, ast.ClassDef)
    [f] = a.body
    assert (a.end_lineno, f.end_lineno, f.end_col_offset) == (5, 5, 13)


def test_misplaced_indentation_costs_nothing_but_is_a_problem() -> None:
    found = parse(document("def f():\n    a = 1\n   b = 2\n    c = 3\n"))
    assert ast.unparse(found.tree) == code("def f():\n    a = 1\n    b = 2\n    c = 3\n")
    assert found.problems


def test_untouched_statements_are_the_very_same_nodes() -> None:
    good = parse(document(GOOD))
    found = parse(document(GOOD.replace("loss.backward()", "loss.backward(")), good)
    assert found.tree.body[0] is good.tree.body[0]
    assert found.tree.body[1] is good.tree.body[1]
    assert found.tree.body[2] is not good.tree.body[2]


def test_the_last_good_parse_is_remembered_through_broken_ones() -> None:
    good = parse(document(GOOD))
    broken = good
    text = GOOD
    for characters in ("print(", "x = ", '"""half', "return [", "for x in", "def"):
        text = text.replace("        loss.backward()", f"        {characters}\n        loss.backward()", 1)
        broken = parse(document(text), broken)
        assert not broken.complete
        assert broken.base is good
    assert broken.tree.body[1] is good.tree.body[1]
    assert parse(document(GOOD), broken).complete


def test_an_unrelated_last_parse_does_no_harm() -> None:
    other = parse(document(Path(ast.__file__).read_text(encoding="utf-8")))
    broken = document(GOOD.replace("loss.backward()", "loss.backward("))
    recovered = GOOD.replace("loss.backward()", f"loss = {UNPARSED}")
    assert ast.unparse(parse(broken, other).tree) == code(recovered)


def test_deleting_everything_but_a_fragment() -> None:
    good = parse(document(GOOD))
    for text in ("x = (", "    return", "def f(", "@", ")", '"""', "else:", "\\"):
        found = parse(document(text), good)
        assert found.problems, text
        assert len(found.tree.body) <= 1


def test_lines_for_ipython_in_a_python_file_cost_themselves_alone() -> None:
    text = "%load_ext autoreload\n" + GOOD + "!nvidia-smi\n%%time\n"
    found = parse(document(text))
    assert [problem.range.start.line for problem in found.problems] == [1]
    assert ast.unparse(found.tree) == code(GOOD)
    assert [node.lineno - 1 for node in found.tree.body] == [node.lineno for node in parse(document(GOOD)).tree.body]


def test_a_remainder_that_is_typed_is_no_magic() -> None:
    found = parse(document("x = 5\ny = (x\n  %x\n"))
    assert UNPARSED in ast.unparse(found.tree)


METHODS = """\
# from the middle of a class

    def loss(self, x, y):
        return F.mse_loss(self.net(x), y)

    @torch.enable_grad()
    def train_step(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
        loss.backward()
"""


def test_methods_that_were_pasted_without_their_class_have_one() -> None:
    found = parse(document(METHODS))
    [owner] = found.tree.body
    assert isinstance(owner, ast.ClassDef)
    assert [each.name for each in owner.body if isinstance(each, ast.FunctionDef)] == ["loss", "train_step"]
    assert [each.lineno for each in owner.body] == [3, 7]
    assert [each.message for each in found.problems] == ["unexpected indent"]
    assert not unread_lines(found)


def test_statements_that_all_stand_too_far_in_are_read() -> None:
    found = parse(document("    out = net(x)\n    out.sum().backward()\n"))
    assert ast.unparse(found.tree) == "out = net(x)\nout.sum().backward()"
    assert found.problems
    assert not unread_lines(found)


def test_a_pasted_text_with_more_that_is_wrong_is_recovered_as_any_other() -> None:
    found = parse(document(METHODS.replace("loss.backward()", "loss.backward(", 1)))
    assert 9 in unread_lines(found)


def test_a_pasted_method_tells_what_it_tells_in_its_class() -> None:
    [report] = check(document(METHODS)).diagnostics
    assert (report.rule, report.range.start.line) == ("double-backward", 10)


SESSION = """\
>>> a = torch.rand(3, requires_grad=True)
>>> b = a.sigmoid()
>>> b
tensor([0.7311, 0.8808, 0.9526], grad_fn=<SigmoidBackward0>)
>>> for i in range(2):
...     b[i] = 2
...
>>> b.sum().backward()
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation
"""

NOTEBOOK_SESSION = """\
In [1]: import torch

In [2]: with torch.inference_mode():
   ...:     t = torch.zeros(3)
   ...:

In [3]: t
Out[3]: tensor([0., 0., 0.])

In [4]: t[...] = 1
"""


def test_a_session_is_what_was_entered_in_it() -> None:
    found = parse(document(SESSION))
    entered = [line[4:] for line in SESSION.splitlines() if line.startswith((">>> ", "... "))]
    assert ast.unparse(found.tree) == code("\n".join(entered))
    assert [(each.lineno, each.col_offset) for each in found.tree.body][-1] == (8, 4)
    assert found.problems
    assert not unread_lines(found)


def test_a_session_tells_what_a_file_tells() -> None:
    [report] = check(document(SESSION)).diagnostics
    assert (report.rule, report.range.start.line) == ("inplace-on-saved", 6)
    [report] = check(document(NOTEBOOK_SESSION)).diagnostics
    assert (report.rule, report.range.start.line) == ("inference-tensor-saved", 10)


def test_a_session_in_which_more_is_wrong_is_recovered_as_any_other() -> None:
    found = parse(document(SESSION.replace("a.sigmoid()", "a.sigmoid(")))
    assert 2 in unread_lines(found)


def test_a_docstring_with_a_session_stays_one() -> None:
    text = f'def f():\n    """Do this.\n\n{SESSION}    """\n'
    assert parse(document(text)).complete


def test_a_broken_file_whose_docstring_shows_a_session_keeps_its_other_statements() -> None:
    text = f'x = foo(1 2)\n\n\ndef f():\n    """Do this.\n\n{SESSION}    """\n    return 1\n'
    found = parse(document(text))
    assert any(isinstance(each, ast.FunctionDef) and each.name == "f" for each in found.tree.body)
