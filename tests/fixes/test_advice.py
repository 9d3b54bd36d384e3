"""Advice stands on repairs: each line tells of one that was tried, or says why there is none."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import NO_WAY_OUT, Diagnostic, Safety
from gradpath.fixes.advice import says
from gradpath.repairs import Transformation
from gradpath.source.document import Document

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = sorted([*ROOT.glob("tests/cases/corpus/*_faulty.py"), *ROOT.glob("samples/faulty/*.py")])
CONTRADICTED = (
    "curriculum_pool_of_losses",
    "tree_lstm_child_sum_dict_cache",
    "inherited_trainer_template_method",
    "gradnorm_initial_losses_live",
)
"""Programs whose help told of a fix that does not hold."""

INDEPENDENT = """
import torch
from torch import nn

cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
loader = [(torch.rand(2, 4), torch.rand(2, 1)) for _ in range(5)]
state = torch.zeros(2, 8)
for inputs, targets in loader:
    state = cell(inputs, state)
    loss = ((head(state) - targets) ** 2).mean()
    loss.backward()
loss.backward()
"""


def diagnostics(path: Path) -> tuple[Diagnostic, ...]:
    return check(Document(str(path), path.read_text(encoding="utf-8"))).diagnostics


@cache
def tried(text: str) -> tuple[Diagnostic, ...]:
    return mended(check(Document("train.py", text))).diagnostics


def test_each_line_beside_the_way_out_in_general_has_a_repair_to_be_tried() -> None:
    lines = [line for path in PROGRAMS[::2] for each in diagnostics(path) for line in each.advice[1:]]
    assert len(lines) > 300
    assert [line.text for line in lines if line.fix is None and line.refuted is None] == []


def test_what_is_told_after_the_trial_has_been_tried() -> None:
    found = [each for path in PROGRAMS[1::24] for each in tried(path.read_text(encoding="utf-8")) if each.advice]
    assert len(found) > 15
    untried: list[str] = []
    for each in found:
        held = [fix.said for fix in each.fixes if fix.edits]
        refuted = {line.text for line in each.advice if line.refuted is not None}
        told = [
            line for line in ((each.help, *each.alternatives) if held else each.alternatives) if line not in refuted
        ]
        untried += [line for line in told if not any(said in line for said in held)]
    assert untried == []


def test_where_each_repair_that_was_tried_fails_the_help_is_the_way_out_in_general() -> None:
    text = (ROOT / "tests/cases/corpus/gan_label_smoothing_fake_reused_list_faulty.py").read_text(encoding="utf-8")
    [fault] = tried(text)
    assert (fault.fixes, fault.alternatives) == ((), ())
    assert fault.help == fault.advice[0].text


def test_help_tells_of_a_fix_that_is_offered_or_of_none() -> None:
    for name in CONTRADICTED:
        for path in ROOT.glob(f"tests/cases/corpus/{name}_faulty*"):
            text = (path if path.is_file() else path / "train.py").read_text(encoding="utf-8")
            for each in tried(text):
                told = {line.fix.repairs for line in each.advice if line.fix is not None and line.text == each.help}
                assert not told or any(set(fix.repairs) >= set(*told) for fix in each.fixes)


def test_help_tells_of_the_preferred_fix() -> None:
    programs = [*PROGRAMS[::12], ROOT / "samples/faulty/actor_critic.py"]
    found = [each for path in programs for each in tried(path.read_text(encoding="utf-8")) if each.advice]
    wanted = [(each, fix) for each in found for fix in each.fixes if fix.preferred]
    assert len(wanted) > 5
    for each, fix in wanted:
        told = [line.fix for line in each.advice if line.fix is not None and says(fix, line.fix)]
        assert each.help == fix.said or any(set(other.repairs) <= set(fix.repairs) for other in told)
        assert each.help not in each.alternatives


def test_help_that_tells_of_a_costly_fix_gives_way_to_the_preferred_one() -> None:
    [fault] = tried((ROOT / "samples/faulty/actor_critic.py").read_text(encoding="utf-8"))
    [preferred] = [fix for fix in fault.fixes if fix.preferred]
    assert preferred.safety is Safety.SAFE
    assert fault.help == preferred.said
    assert len(fault.alternatives) == len(fault.fixes) - 1


def test_what_is_offered_is_not_called_no_way_out() -> None:
    for path in PROGRAMS[::12]:
        for each in tried(path.read_text(encoding="utf-8")):
            refused = any(line.startswith(NO_WAY_OUT) and "retain_graph" in line for line in each.alternatives)
            assert not (refused and any(fix.does(Transformation.RETAIN_GRAPH) for fix in each.fixes))


def test_an_error_that_was_masked_does_not_count_against_a_fix() -> None:
    [fault] = tried(INDEPENDENT)
    assert fault.fixes[0].does(Transformation.DETACH)
    assert fault.fixes[0].preferred
