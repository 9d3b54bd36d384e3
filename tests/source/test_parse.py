"""Every text gets a tree whose locations are those of the text."""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradpath
from gradpath.diagnostic import Position, Range
from gradpath.source.depth import DEEPEST
from gradpath.source.document import Document
from gradpath.source.parse import UNPARSED, Parsed, parse
from tests.source.edits import KINDS, edited

AROUND = "def first():\n    return 1\n", "def last():\n    return 2\n"


def parsed(text: str) -> Parsed:
    return parse(Document("a.py", text))


def nodes_with_depth(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack += [(child, depth + 1) for child in ast.iter_child_nodes(node)]


def assert_sound(found: Parsed) -> None:
    """All locations lie in the text, and no visitor overflows."""
    document = found.document
    lengths = [
        len(document.line(number).encode("utf-8", "surrogatepass")) for number in range(1, document.line_count + 1)
    ]
    for node, depth in nodes_with_depth(found.tree):
        assert depth <= 2 * DEEPEST
        lineno = getattr(node, "lineno", None)
        if lineno is None:
            continue
        assert isinstance(
            node, ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern
        )
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        assert 1 <= lineno <= node.end_lineno <= document.line_count
        assert 0 <= node.col_offset <= lengths[lineno - 1]
        assert 0 <= node.end_col_offset <= lengths[node.end_lineno - 1]
        assert (lineno, node.col_offset) <= (node.end_lineno, node.end_col_offset)
    for problem in found.problems:
        assert problem.message
        assert "\n" not in problem.message
        assert Position(1, 1) <= problem.range.start <= problem.range.end <= document.position(len(document.text))
    ast.dump(found.tree, include_attributes=True)


def test_a_good_text_has_the_tree_of_the_parser_and_no_problems() -> None:
    text = "import torch\n\n\ndef f(x):\n    return torch.exp(x)\n"
    found = parsed(text)
    assert ast.dump(found.tree, include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)
    assert found.problems == ()
    assert found.complete


@pytest.mark.parametrize("text", ["", "\n", "\f", "# only a comment", "   ", "\t\n  \n", '"""doc"""'])
def test_texts_without_code_have_no_problems(text: str) -> None:
    assert parsed(text).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\0\ny = 2\n",
        "x = '\ud800'\ny = 2\n",
        "# \udfff\ny = 2\n",
        "\ufeffy = 2\n",
        "\ufeff# comment\ny = 2\n",
        "\ufeffif y:\n    z = 1\ny = 2\n",
        "\fy = 2\n",
        "\ny = 2",
        "if 1:\r\n\tx = 1\r\ny = 2\r\n",
        "if 1:\r  x = 1\ry = 2\r",
        "x = '''\u2028\x85\f'''\ny = 2\n",
    ],
)
def test_odd_characters_cost_nothing(text: str) -> None:
    found = parsed(text)
    assert found.problems == ()
    assert_sound(found)
    [target] = [
        node
        for node in ast.walk(found.tree)
        if isinstance(node, ast.Name) and node.id == "y" and isinstance(node.ctx, ast.Store)
    ]
    assert found.document.slice(found.document.range_of(target)) == "y"


def test_a_surrogate_in_code_costs_its_statement_alone() -> None:
    found = parsed("a = 1\n\udc80 = 2\nb = 3\n")
    assert [type(node).__name__ for node in found.tree.body] == ["Assign", "Expr", "Assign"]
    assert [problem.range for problem in found.problems] == [Range(Position(2, 1), Position(2, 6))]
    assert_sound(found)


def test_the_parser_prints_no_warnings() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed(r"x = '\d' and '\w' is 1; assert (x, 'm'); 1in x" + "\nbroken(\n")
    assert caught == []


DEEP = {
    "a long sum": "x = " + "+".join(["a"] * 5_000),
    "a sum that just parses": "x = " + "+".join(["a"] * 700),
    "a very long sum": "x = " + "+".join(["a"] * 100_000),
    "signs": "x = " + "-" * 5_000 + "1",
    "brackets": "(" * 10_000 + ")" * 10_000,
    "open brackets": "[(" * 10_000,
    "open brackets on lines": "x = (\n" * 10_000,
    "as many brackets as Python takes": "(" * 150 + ")" * 150,
    "attributes": "a" + ".b" * 3_000,
    "calls": "a" + "()" * 3_000,
    "subscripts": "a" + "[0]" * 3_000,
    "lambdas": "x = " + "lambda: " * 3_000 + "1",
    "conditional expressions": "x = " + "a if b else " * 3_000 + "c",
    "powers": "x = " + "**".join("a" * 3_000),
    "negations": "x = " + "not " * 3_000 + "a",
    "elif": "if x:\n    pass\n" + "elif x:\n    pass\n" * 3_000,
    "a few hundred elif": "if x:\n    pass\n" + "elif x:\n    pass\n" * 400,
    "blocks": "\n".join(" " * level + "if x:" for level in range(2_000)),
    "attributes in an except clause": "try:\n    pass\nexcept " + "a." * 900 + "b:\n    pass",
    "attributes in a case": "match x:\n    case " + "a." * 900 + "b:\n        pass",
    "attributes in a decorator": "@" + "a." * 900 + "b\ndef f(): pass",
    "attributes in a header": "for x in " + "a." * 900 + "b:\n    pass",
}


@pytest.mark.parametrize("code", DEEP.values(), ids=DEEP.keys())
def test_deep_code_costs_itself_alone(code: str) -> None:
    found = parsed(f"{AROUND[0]}{code}\n{AROUND[1]}")
    assert_sound(found)
    functions = [node.name for node in found.tree.body if isinstance(node, ast.FunctionDef) and node.name != "f"]
    assert functions == ["first", "last"]
    assert bool(found.problems) == (code != DEEP["as many brackets as Python takes"])


def test_code_that_an_edit_moved_is_pruned_again() -> None:
    deep = f"{DEEP['a sum that just parses']}\n"
    good = parsed(f"a = 1\n{deep}")
    assert len(good.problems) == 1
    broken = parse(Document("a.py", f"a = (\n\n{deep}"), good)
    assert_sound(broken)
    assert [problem.range.start.line for problem in broken.problems] == [1, 3]


def test_a_pruned_expression_keeps_what_is_not_too_deep() -> None:
    found = parsed("total = " + " + ".join(f"part{number}" for number in range(700)))
    names = [node.id for node in ast.walk(found.tree) if isinstance(node, ast.Name)]
    assert "total" in names
    assert "part699" in names
    assert "part0" not in names


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="asserts the refusal of an older parser")
def test_syntax_of_a_newer_python_costs_the_statement_alone() -> None:
    found = parsed('a = t"{x}"\ndef f():\n    return 1\n')
    assert [problem.range.start.line for problem in found.problems] == [1]
    assert [type(node).__name__ for node in found.tree.body] == ["Assign", "FunctionDef"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="asserts the refusal of an older parser")
def test_type_parameters_are_left_out_where_python_is_too_old() -> None:
    found = parsed("def f[T](x: T) -> T:\n    return x\nclass A[T: (int, str)](B):\n    y = 1\ntype X[T] = list[T]\n")
    assert len(found.problems) == 3
    assert ast.unparse(found.tree) == "def f(x: T) -> T:\n    return x\n\nclass A(B):\n    y = 1\n...\nX = list[T]"


def test_python_2_costs_its_statements_alone() -> None:
    found = parsed('def f(x):\n    print "x =", x\n    y = x\n    exec "z"\n    return y\ndef g():\n    return `1`\n')
    assert [problem.range.start.line for problem in found.problems] == [2, 4, 7]
    assert ast.unparse(found.tree) == (
        f"def f(x):\n    pass\n    y = x\n    {UNPARSED}\n    return y\n\ndef g():\n    return {UNPARSED}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 100_000,
        "def f(x):\n    return x\n" * 33_000 + "def g(:\n" + "def f(x):\n    return x\n" * 17_000,
        "foo(\n" * 20_000,
        "print 'x'\n" * 20_000,
        "x = '''\n" * 5_001,
        "x = '''\ndef f():\n" * 3_000,
        "if x:\n" * 10_000,
        "def f(\n" * 10_000,
        "class A:\n  x = (\n" * 5_000,
        "'" * 50_001,
        "\\\n" * 50_000 + "(",
        "x = [\n" + "    1,\n" * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_large_texts_take_bounded_time(text: str) -> None:
    begun = time.process_time()
    found = parsed(text)
    assert time.process_time() - begun < 10
    assert found.tree.body


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_any_damage_leaves_a_sound_tree() -> None:
    at = random.Random(23)
    source = Path(textwrap.__file__).read_text(encoding="utf-8")
    odd = ["\0", "\ud800", "\f", "\u2028", "\r", "\ufeff", "\x0b", "é", "𝔘", "\t", "\\", "    ", "\x1a"]
    kinds = [KINDS["insert"], KINDS["delete"], KINDS["half-typed statement"], KINDS["cut line"]]
    for _ in range(25):
        document = Document("a.py", source)
        last = parse(document)
        for _ in range(at.choice([1, 3, 10, 25])):
            start, end, new = at.choice(kinds)(document.text, at)
            document = edited(document, start, end, new + at.choice(odd) * (at.random() < 0.3))
            last = parse(document, last if at.random() < 0.6 else None)
            assert_sound(last)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_an_edit_leaves_of_a_tree_is_the_tree_of_the_new_text(ending: str) -> None:
    at = random.Random(7)
    document = Document("a.py", (GAPS * 4).replace("\n", ending))
    last, kept = parse(document), 0
    words = ["", "", "x", "# é", ending, " ", "    ", "\\", ";", '"""', "(", ")", "else:", "@", ":", "+ 1", "\ufeff"]
    for _ in range(1_000):
        start = at.randrange(len(document.text) + 1)
        after = edited(document, start, start + at.choice([0, 0, 1, 5]), at.choice(words))
        found, cold = parse(after, last), parse(after)
        assert found.complete == cold.complete, after.text
        if found.complete:
            assert ast.dump(found.tree, include_attributes=True) == ast.dump(cold.tree, include_attributes=True)
            kept += len({*found.tree.body} & {*last.tree.body})
            document = after
        last = found if at.random() < 0.7 or found.complete else last
    assert kept > 1_000


GAPS = """\
a = 1; b = (
    2); c = 3
d = 4 \\

e = 5  # \\
if e: d; e
\\
f = 6

@property  # first

def g(): pass
h = [
] ; i = '''
'''; j = 7
"""


def test_what_was_cut_stays_reported_while_other_statements_are_edited() -> None:
    text = "x = 1\ny = " + "-" * 300 + "1\nz = 3\n"
    first = parsed(text)
    later = parse(Document("a.py", text.replace("x", "w").replace("z", "v")), first)
    assert later.problems == first.problems == parsed(text).problems
    assert later.problems
    moved = parse(Document("a.py", "\n" + text), later)
    assert [problem.range.start.line for problem in moved.problems] == [3]


def test_a_deep_stack_of_the_caller_does_not_break_the_promise() -> None:
    text = "".join(" " * level + "if x:\n" for level in range(90)) + " " * 90 + "y = (\n"
    outcomes: list[Parsed] = []

    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            outcomes.append(parsed(text))

    for room in (50, 100, 200, 400):
        thread = threading.Thread(target=descend, args=(sys.getrecursionlimit() - room,))
        thread.start()
        thread.join()
    assert len(outcomes) == 4
    assert all(found.problems for found in outcomes)


def test_parsing_needs_no_parser_library() -> None:
    code = (
        "import sys\n"
        "from gradpath.source.document import Document\n"
        "from gradpath.source.parse import parse\n"
        "parse(Document('a.py', 'def f(:\\n  pass\\n'))\n"
        "print(sorted({'parso', 'jedi', 'tokenize', 'torch'} & set(sys.modules) - {'tokenize'}))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(gradpath.__file__).parents[1])}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
