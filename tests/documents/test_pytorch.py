from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documents.grammar import Source, read_source
from tests.documents.pytorch import Outcome, outcome_of, run

torch = pytest.importorskip("torch")


def _source(text: str, name: str = "example.py") -> Source:
    return read_source(name, text, name, prelude=True)


def test_the_innermost_line_of_the_program_is_where_it_raises() -> None:
    raised = run([_source("def f(x):\n    x.backward()\n\nf(torch.zeros(()))\n")], []).raised
    assert raised is not None
    assert raised.kinds[0] == "RuntimeError"
    assert "does not require grad" in raised.message
    assert (raised.name, raised.line) == ("example.py", 3)


def test_facts_are_checked_where_the_program_ended() -> None:
    outcome = run([_source("x = torch.ones(1)\nx.backward()\nx = None\n")], ["x is not None", "x.sum() == 2", "y"])
    assert outcome.facts == ("", "is not true", "raises NameError: name 'y' is not defined")


def test_a_file_can_be_imported_and_is_forgotten() -> None:
    sources = [
        _source("import torch\ndef f(x):\n    return x.backward()\n", "a/b.py"),
        _source("from a.b import f\nf(1)\n"),
    ]
    raised = run(sources, []).raised
    assert raised is not None
    assert (raised.kinds[0], raised.name, raised.line) == ("AttributeError", "a/b.py", 3)
    assert not {"a", "a.b"} & set(sys.modules)


def test_what_a_program_puts_in_the_place_of_a_library_is_forgotten() -> None:
    source = _source("import sys\nfrom types import SimpleNamespace\nsys.modules['no_library'] = SimpleNamespace()\n")
    assert run([source], []) == Outcome(None, ())
    assert "no_library" not in sys.modules


def test_a_module_that_a_program_makes_by_hand_does_not_outlive_it() -> None:
    source = _source("import sys\nimport types\nsys.modules['by_hand'] = types.ModuleType('by_hand')\n")
    assert run([source], []) == Outcome(None, ())
    assert "by_hand" not in sys.modules


def test_leaving_by_sys_exit_is_an_end() -> None:
    assert run([_source("import sys\nsys.exit()\n")], []) == Outcome(None, ())


@pytest.mark.parametrize(
    "program",
    [
        "torch.set_grad_enabled(False)",
        "torch.set_default_dtype(torch.float64)",
        "torch.set_default_device('meta')",
        "torch.set_autocast_enabled('cpu', True)",
        "torch.autograd.set_detect_anomaly(True)",
        "torch.manual_seed(7)",
        "def g():\n    with torch.no_grad():\n        yield\nh = g()\nnext(h)",
        "mode = torch.inference_mode()\nmode.__enter__()\nmode.__exit__(None, None, None)",
    ],
)
def test_nothing_is_left_behind(program: str) -> None:
    run([_source(f"{program}\n")], [])
    facts = [
        "w.requires_grad",
        "w.dtype == torch.float32",
        "w.device.type == 'cpu'",
        "not torch.is_autocast_enabled('cpu')",
        "not torch.is_anomaly_enabled()",
        "torch.initial_seed() == 0",
    ]
    outcome = run([_source("w = torch.rand(3, requires_grad=True) * 2\n")], facts)
    assert outcome == Outcome(None, ("",) * len(facts))


def test_a_run_is_remembered_until_the_program_changes(tmp_path: Path) -> None:
    first = outcome_of([_source("x = torch.ones(1)\nx.backward()\n")], ["x == 1"], tmp_path)
    (record,) = tmp_path.iterdir()
    record.write_text(record.read_text().replace("does not require grad", "remembered"))
    again = outcome_of([_source("x = torch.ones(1)\nx.backward()\n")], ["x == 1"], tmp_path)
    assert first.raised is not None
    assert again.raised is not None
    assert "remembered" in again.raised.message
    changed = outcome_of([_source("x = torch.ones(2)\nx.backward()\n")], ["x == 1"], tmp_path)
    assert changed.raised is not None
    assert "remembered" not in changed.raised.message
    record.write_text("{")
    assert outcome_of([_source("x = torch.ones(1)\nx.backward()\n")], ["x == 1"], tmp_path) == first
