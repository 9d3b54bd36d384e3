"""What a program sees of its other modules, in all the ways of importing them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradpath.analysis.check import Analysis, check
from gradpath.names.files import Files, Trees
from gradpath.names.project import Project
from gradpath.source.document import Document
from gradpath.source.parse import parse
from tests.names.trees import NET, write

LOOP = """\
import torch
{imports}

net = {net}()
for x in torch.rand(3, 4):
    net(x).pow(2).mean().backward()
"""
TWICE = """\
import torch
{imports}

w = torch.rand(3, requires_grad=True)
loss = {function}(w)
loss.backward()
loss.backward()
"""


def checked(root: Path, name: str = "train.py") -> Analysis:
    path = root / name
    return check(Document(str(path), path.read_text(encoding="utf-8")))


def rules(root: Path, name: str = "train.py") -> list[str]:
    return [found.rule for found in checked(root, name).diagnostics]


@pytest.mark.parametrize(
    ("imports", "net"),
    [
        ("from models.net import Net", "Net"),
        ("from models.net import Net as Model", "Model"),
        ("from models import Net", "Net"),
        ("from models import net", "net.Net"),
        ("import models", "models.Net"),
        ("import models.net", "models.net.Net"),
        ("import models.net as m", "m.Net"),
        ("from models.net import *", "Net"),
        ("from models import *", "Net"),
        ("import importlib\nm = importlib.import_module('models.net')", "m.Net"),
        ("try:\n    from models.net import Net\nexcept ImportError:\n    Net = None", "Net"),
        ("def Net():\n    from models.net import Net as Inner\n    return Inner()", "Net"),
        ("class Shelf:\n    from models.net import Net", "Shelf.Net"),
    ],
)
def test_ways_to_import_a_class(tmp_path: Path, imports: str, net: str) -> None:
    write(tmp_path, {"models/__init__.py": "from .net import Net\n", "models/net.py": NET})
    write(tmp_path, {"train.py": LOOP.format(imports=imports, net=net)})
    assert rules(tmp_path) == ["carried-graph"]


@pytest.mark.parametrize(
    "initial",
    [
        "from models.net import Net",
        "from . import net\nNet = net.Net",
        "from .net import *",
        "from .inner import *",
        "from .inner import *\nfrom .net import *\n__all__ = ['Net', 'missing']",
        "from . import *\nfrom .inner import *",
        "from .net import Net as Base\nNet = Base\nNet = Net",
        "from .net import Net\n__all__ = ['Net']",
        "from .inner import Net",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .net import Net\nelse:\n    late(globals())",
        "from .net import Net as Net\nfrom .missing import Other",
        "raise RuntimeError\nfrom .net import Net",
        "try:\n    from .fast import Net\nexcept ImportError:\n    from .net import Net",
        "from .net import Net as Base\n\nclass Net(Base):\n    pass",
        "from .net import Net\n\nclass Net(Net):\n    pass",
        "from .net import Net\nREGISTRY = {}\ndef register(cls):\n    REGISTRY['it'] = cls\n    return cls\n"
        "@register\nclass Other(Net):\n    pass\nNet = REGISTRY['it']",
        "def __getattr__(name):\n    raise AttributeError\nfrom .net import Net",
    ],
)
def test_ways_to_pass_a_class_on(tmp_path: Path, initial: str) -> None:
    inner = "from ..net import Net"
    files = {"models/__init__.py": initial, "models/net.py": NET, "models/inner/__init__.py": inner}
    write(tmp_path, {**files, "train.py": LOOP.format(imports="from models import Net", net="Net")})
    expected = [] if "fast" in initial else ["carried-graph"]
    assert rules(tmp_path) == expected


def test_functions_and_constants_of_other_files(tmp_path: Path) -> None:
    loss = "from options import SQUARE\n\ndef loss(w):\n    return (w * w if SQUARE else w).sum()\n"
    write(tmp_path, {"losses.py": loss})
    write(tmp_path, {"train.py": TWICE.format(imports="from losses import loss as f", function="f")})
    write(tmp_path, {"options.py": "SQUARE = True\n"})
    assert rules(tmp_path) == ["double-backward"]
    write(tmp_path, {"options.py": "SQUARE = False\n"})
    assert rules(tmp_path) == []


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "from b import power\n\ndef square(w):\n    return power(w)\n"})
    write(tmp_path, {"b.py": "import a\nfrom a import square\n\ndef power(w):\n    return w * w\n"})
    function = "import b\nfrom a import square\n\ndef f(w):\n    return (square(w) + b.a.square(w) + b.square(w)).sum()"
    write(tmp_path, {"train.py": TWICE.format(imports=function, function="f")})
    assert rules(tmp_path) == ["double-backward"]


def test_a_module_that_imports_the_checked_one_sees_its_classes(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"pkg/__init__.py": "", "pkg/factory.py": "from pkg import net\n\ndef make():\n    return net.Net()\n"},
    )
    loop = LOOP.format(imports="from pkg.factory import make", net="make").replace("import torch\n", "")
    write(tmp_path, {"pkg/net.py": NET + "\n" + loop})
    assert rules(tmp_path, "pkg/net.py") == ["carried-graph"]


def test_what_is_imported_is_made_with_gradients_on(tmp_path: Path) -> None:
    write(tmp_path, {"weights.py": "import torch\nleaf = torch.rand(3, requires_grad=True)\nw = leaf * 2\n"})
    program = """\
    import torch
    import weights

    with torch.no_grad():
        first = weights.w
    loss = (weights.w * weights.w).sum()
    loss.backward()
    loss.backward()
    """
    write(tmp_path, {"train.py": program})
    assert rules(tmp_path) == ["double-backward"]


def test_what_a_module_does_under_its_guard_and_in_loops_is_not_done_by_an_import(tmp_path: Path) -> None:
    module = (
        "def f(w):\n    return (w * w).sum()\n\nwhile True:\n    f = None\nif __name__ == '__main__':\n    f = None\n"
    )
    write(tmp_path, {"losses.py": module, "train.py": TWICE.format(imports="import losses", function="losses.f")})
    assert rules(tmp_path) == ["double-backward"]


def test_undecided_branches_of_an_import_are_no_condition_of_a_fault(tmp_path: Path) -> None:
    module = "import torch\nif torch.cuda.is_available():\n    n = 1\n\ndef f(w):\n    return (w * w).sum()\n"
    write(tmp_path, {"losses.py": module, "train.py": TWICE.format(imports="from losses import f", function="f")})
    [found] = checked(tmp_path).diagnostics
    assert (found.level.value, "when" in found.message) == ("error", False)


def test_a_fault_of_an_import_itself_is_told_where_that_file_is_checked(tmp_path: Path) -> None:
    fault = TWICE.format(imports="def f(w):\n    return (w * w).sum()", function="f")
    write(tmp_path, {"other.py": fault + "\ndef g(w):\n    return w.sum()\n"})
    write(
        tmp_path, {"train.py": "import torch\nfrom other import g\ng(torch.rand(3, requires_grad=True)).backward()\n"}
    )
    assert rules(tmp_path) == []
    assert rules(tmp_path, "other.py") == ["double-backward"]


def test_the_story_names_both_files(tmp_path: Path) -> None:
    write(tmp_path, {"net.py": NET, "train.py": LOOP.format(imports="from net import Net", net="Net")})
    [found] = checked(tmp_path).diagnostics
    assert found.path == str(tmp_path / "train.py")
    assert {label.path for label in found.labels} == {str(tmp_path / "train.py"), str(tmp_path / "net.py")}


def test_half_typed_and_unreadable_files_are_passed_over(tmp_path: Path) -> None:
    half = NET + "\ndef g(:\n    x = (\n"
    write(tmp_path, {"net.py": half, "train.py": LOOP.format(imports="import bad\nfrom net import Net", net="Net")})
    (tmp_path / "bad.py").write_bytes(b"\0\xff")
    assert rules(tmp_path) == ["carried-graph"]


def test_endless_imports_end(tmp_path: Path) -> None:
    for number in range(300):
        write(tmp_path, {f"m{number}.py": f"from m{number + 1} import *\nclass C{number}(C{number + 1}):\n    pass\n"})
    write(tmp_path, {"m300.py": "class C300:\n    pass\n"})
    program = TWICE.format(imports="from m0 import C0\n\ndef f(w):\n    C0()\n    return (w * w).sum()", function="f")
    write(tmp_path, {"train.py": program})
    assert rules(tmp_path) == ["double-backward"]


# What is read


@pytest.mark.parametrize("other", ["from .big import Big", "from .big import *", "Big = load()\nBig = Big(Net)"])
def test_only_what_is_used_is_read(tmp_path: Path, other: str) -> None:
    files = {
        "models/__init__.py": f"from .net import Net\n{other}\ndef load():\n    from .big import Big\n    return Big\n",
        "models/big.py": "",
        "models/net.py": NET,
    }
    imports = "import unused\nfrom models import Net"
    write(tmp_path, {**files, "unused.py": "", "train.py": LOOP.format(imports=imports, net="Net")})
    read = {path.relative_to(tmp_path).as_posix() for path in checked(tmp_path).dependencies}
    assert read - {"unused.py"} == {"models/__init__.py", "models/net.py"}


def test_the_editors_text_counts_before_that_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    write(tmp_path, {"net.py": "", "train.py": LOOP.format(imports="from net import Net", net="Net")})
    project = Project(tmp_path, None, lambda asked: NET if asked == path else None)
    document = Document(str(tmp_path / "train.py"), (tmp_path / "train.py").read_text())
    assert [found.rule for found in check(document, project=project).diagnostics] == ["carried-graph"]
    assert check(document).diagnostics == ()


@pytest.mark.parametrize("name", ["untitled:Untitled-1", "<stdin>", "vscode-notebook-cell:/a.ipynb#X"])
def test_a_text_without_a_place_imports_nothing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, {"net.py": NET}))
    assert check(Document(name, LOOP.format(imports="from net import Net", net="Net"))).diagnostics == ()


def test_paths_are_shown_as_that_of_the_checked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a/net.py": NET, "a/train.py": LOOP.format(imports="from net import Net", net="Net")})
    monkeypatch.chdir(tmp_path / "a")
    [found] = check(Document("train.py", Path("train.py").read_text())).diagnostics
    assert {label.path for label in found.labels} == {"train.py", "net.py"}


def test_a_file_is_parsed_again_only_when_it_has_changed(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": "", "net.py": NET})
    trees = Trees()

    def tree() -> object:
        parsed = Files(parse(Document(str(tmp_path / "train.py"), "")), trees=trees).parsed(tmp_path / "net.py")
        assert parsed is not None
        return parsed.tree

    first = tree()
    assert tree() is first
    (tmp_path / "net.py").write_text(NET)
    assert tree() is first
    (tmp_path / "net.py").write_text(NET + "\n")
    assert tree() is not first


def test_a_file_that_others_import_outlives_those_that_are_only_checked(tmp_path: Path) -> None:
    write(tmp_path, {"net.py": NET})
    trees = Trees(kept=2 * len(NET))

    def tree(checked: str) -> object:
        program = parse(Document(str(tmp_path / checked), "pass\n" * (len(NET) // 5)))
        parsed = Files(program, trees=trees).parsed(tmp_path / "net.py")
        assert parsed is not None
        return parsed.tree

    first = tree("one.py")
    for name in ("two.py", "three.py"):
        Files(parse(Document(str(tmp_path / name), "pass\n" * (len(NET) // 5))), trees=trees)
    assert tree("four.py") is first


def test_a_text_without_pytorch_is_not_parsed() -> None:
    for text in ("x = [1]\nx[0] += 1\n", "def f(:\n"):
        analysis = check(Document("plain.py", text))
        assert (analysis.diagnostics, analysis.parsed.tree.body) == ((), [])
    [hint] = check(Document("plain.py", "x = 1  # gradpath: ignore\n")).diagnostics
    assert hint.rule == "unused-ignore"


@pytest.mark.parametrize(
    "line",
    [
        "sys.path.append('../lib')",
        "sys.path.insert(0, '../lib')",
        "sys.path += ['../lib', '.']",
        "sys.path = ['../lib'] + sys.path",
        "sys.path.extend(['../lib'])",
        "sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'lib'))",
        "sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))",
        "sys.path.append(os.path.join(os.getcwd(), os.pardir, 'lib'))",
        "sys.path.append(os.path.dirname(os.path.realpath(__file__)) + '/../lib')",
        "sys.path.append(str(Path(__file__).resolve().parent.parent / 'lib'))",
        "sys.path.append(str(Path(__file__).resolve().parents[1] / 'lib'))",
        "sys.path.append(Path(__file__).parent.joinpath('..', 'lib').as_posix())",
        "HERE = os.path.dirname(__file__)\nROOT = os.path.join(HERE, '..')\nsys.path.append(os.path.join(ROOT, 'lib'))",
        "if True:\n    sys.path.append('../lib')",
    ],
)
def test_folders_that_the_program_adds_to_its_search_path(tmp_path: Path, line: str) -> None:
    imports = f"import os, sys\nfrom pathlib import Path\n{line}\nfrom net import Net"
    write(tmp_path, {"lib/net.py": NET, "scripts/train.py": LOOP.format(imports=imports, net="Net")})
    write(tmp_path, {"scripts/pyproject.toml": ""})
    assert rules(tmp_path, "scripts/train.py") == ["carried-graph"]


@pytest.mark.parametrize("folder", ["'./base/'", "os.path.abspath('base')", "os.path.join(os.getcwd(), 'base')"])
def test_a_relative_folder_counts_from_a_script_further_up(tmp_path: Path, folder: str) -> None:
    imports = f"import os, sys\nsys.path.append({folder})\nfrom net import Net"
    write(tmp_path, {"base/net.py": NET, "ways/of/train.py": LOOP.format(imports=imports, net="Net")})
    write(tmp_path, {"pyproject.toml": ""})
    assert rules(tmp_path, "ways/of/train.py") == ["carried-graph"]


def test_no_folder_outside_of_the_project_is_taken_for_a_relative_one(tmp_path: Path) -> None:
    imports = "import sys\nsys.path.append('../base')\nfrom net import Net"
    write(tmp_path, {"base/net.py": NET, "one/ways/train.py": LOOP.format(imports=imports, net="Net")})
    write(tmp_path, {"one/pyproject.toml": ""})
    assert "carried-graph" not in rules(tmp_path, "one/ways/train.py")


@pytest.mark.parametrize(
    "line",
    ["sys.path.append(unknown())", "x = x\nsys.path.append(x)", "sys.path.append(*args)", "sys.path.append(1 + '')"],
)
def test_a_search_path_that_cannot_be_told_is_passed_over(tmp_path: Path, line: str) -> None:
    imports = f"import sys\n{line}\nfrom net import Net"
    write(tmp_path, {"lib/net.py": NET, "scripts/train.py": LOOP.format(imports=imports, net="Net")})
    write(tmp_path, {"scripts/pyproject.toml": ""})
    assert "carried-graph" not in rules(tmp_path, "scripts/train.py")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_place_of_a_module_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for name in ("data.py", "package/__init__.py"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "other.py").symlink_to("/dev/zero")
    text = "import torch\nfrom data import load\nimport package\nimport other\nother.f(load(package.x))\n"
    assert not check(Document(str(tmp_path / "train.py"), text)).diagnostics
