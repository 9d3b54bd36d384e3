"""The op table: it says what PyTorch does, it covers what PyTorch has, and open conditions are folded."""

from __future__ import annotations

import json
import random
from importlib import resources
from typing import Any

import pytest

from gradpath.autograd.ops import (
    NUMBER,
    OBJECT,
    REQUIRED,
    SEQUENCE,
    TENSOR,
    UNKNOWN,
    Certainty,
    ModuleSpec,
    Op,
    find_module,
    find_op,
    table_version,
)
from observe.text import as_text

TEXT = resources.files("gradpath.autograd").joinpath("ops.json").read_text("utf-8")
TABLE: dict[str, Any] = json.loads(TEXT)

FRESH = {"alias": "fresh", "grad": ["input"]}

OBSERVED_AGAIN = (
    *("operator.add", "operator.mul", "operator.truediv", "operator.pow", "operator.matmul", "operator.imul"),
    *("getitem:int", "getitem:tensor", "getitem:mask", "setitem:slice", "setitem:mask"),
    *("torch.exp", "torch.pow", "torch.max", "torch.where", "torch.clamp", "torch.cat", "torch.stack", "torch.einsum"),
    *("torch.lerp", "torch.softmax", "torch.linalg.det", "torch.fft.fft"),
    *("torch.Tensor.add_", "torch.Tensor.mul_", "torch.Tensor.exp_", "torch.Tensor.view", "torch.Tensor.detach"),
    *(
        "torch.Tensor.to",
        "torch.Tensor.chunk",
        "torch.Tensor.reshape",
        "torch.Tensor.data",
        "torch.Tensor.masked_fill_",
    ),
    *("torch.nn.functional.relu", "torch.nn.functional.dropout", "torch.nn.functional.linear"),
    *("torch.nn.functional.cross_entropy", "torch.nn.functional.mse_loss", "torch.nn.functional.conv2d"),
)

MODULES_OBSERVED_AGAIN = (
    "Linear",
    "BatchNorm1d",
    "ReLU",
    "Dropout",
    "LSTMCell",
    "Embedding",
    "LayerNorm",
    "Flatten",
)


# What PyTorch does


@pytest.fixture(scope="module")
def observe() -> Any:
    torch = pytest.importorskip("torch")
    if torch.__version__.partition("+")[0] != table_version():
        pytest.skip(f"the table is of PyTorch {table_version()}")
    torch.set_num_threads(1)
    from observe import modules, table

    names = {"table": table, "names": table.names(), "modules": modules}
    return type("Observe", (), names)


def same_entry(observe: Any, name: str) -> bool:
    """Whether the entry, or that of which the name is an alias, is what PyTorch shows now."""
    entry, _ = observe.table.entry_of_name(name, observe.names[name])
    entry = json.loads(json.dumps(entry))
    target = TABLE["aliases"].get(name)
    if target is None:
        return bool(entry == TABLE["ops"][name])
    operator = name.startswith("operator.")
    told = TABLE["ops"][target]
    return bool(observe.table.comparable(entry, operator) == observe.table.comparable(told, operator))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OBSERVED_AGAIN)
def test_the_entry_is_what_pytorch_shows(observe: Any, name: str) -> None:
    assert same_entry(observe, name)


@pytest.mark.filterwarnings("ignore")
def test_entries_taken_at_random_are_what_pytorch_shows(observe: Any) -> None:
    seed = random.randrange(10**6)
    chosen = random.Random(seed).sample(sorted(name for name in observe.names if name in TABLE["ops"]), 6)
    differ = [name for name in chosen if not same_entry(observe, name)]
    assert not differ, f"seed {seed}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("short", MODULES_OBSERVED_AGAIN)
def test_the_module_is_what_pytorch_shows(observe: Any, short: str) -> None:
    name = f"torch.nn.{short}"
    entry, _ = observe.modules.entry_of_module(name, observe.modules.names()[name])
    assert json.loads(json.dumps(entry)) == TABLE["modules"][name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("short", ["LSTM", "GRU", "RNN"])
def test_writing_a_recurrent_result_raises_where_the_table_says_it_is_saved(observe: Any, short: str) -> None:
    import torch

    result, _ = getattr(torch.nn, short)(4, 2)(torch.rand(3, 3, 4))
    total = result.sum()
    result.add_(1)
    spec = find_module(f"torch.nn.{short}")
    assert spec is not None
    if "out0" in spec.behaviour(True, {"input": TENSOR, "input.ndim": 3}).saves:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            total.backward()
    else:
        total.backward()


# What is covered


def is_told(name: str) -> bool:
    return name in TABLE["ops"] or name in TABLE["aliases"]


def test_most_functions_that_make_tensors_are_told(observe: Any) -> None:
    from torch.overrides import get_overridable_functions

    overridable = {
        f"{observe.table.SPACES.get(space, 'torch')}.{function.__name__.removeprefix(prefix)}"
        for space, functions in get_overridable_functions().items()
        for function in functions
        if hasattr(function, "__name__") and not function.__name__.startswith("_")
        for prefix in (f"{getattr(space, '__name__', '').rpartition('.')[2]}_",)
    }
    making = {name for name in overridable if TABLE["left_out"].get(name) != "returns no tensor"}
    told = {name for name in making if is_told(name)}
    assert len(making) > 1000
    assert len(told) / len(making) >= 0.85


def test_every_public_name_is_told_or_left_out_with_a_reason(observe: Any) -> None:
    names = [*observe.names, *observe.modules.names()]
    assert [n for n in names if not is_told(n) and n not in TABLE["modules"] and not TABLE["left_out"].get(n)] == []


def test_all_of_nn_functional_and_all_modules_are_told() -> None:
    without = {name for name in TABLE["left_out"] if name.startswith("torch.nn.")}
    assert without <= {
        *(f"torch.nn.{name}" for name in ("Container", "Module", "ModuleDict", "ModuleList", "ParameterDict")),
        *(f"torch.nn.{name}" for name in ("ParameterList", "Sequential", "RNNBase", "RNNCellBase", "DataParallel")),
        *(f"torch.nn.functional.{name}" for name in ("grouped_mm", "scaled_mm", "scaled_grouped_mm")),
    }


def test_the_table_is_small_and_in_order_with_one_entry_a_line() -> None:
    assert len(TEXT) < 400_000
    assert as_text(TABLE) == TEXT


def test_aliases_lead_to_entries() -> None:
    assert [name for name, target in TABLE["aliases"].items() if target not in TABLE["ops"]] == []


# What the reader makes of it


def behaviour(op: str, **kinds: object) -> Any:
    found = find_op(op)
    assert found is not None
    return found.behaviour(kinds)


def test_a_product_saves_each_factor_for_the_other() -> None:
    product = behaviour("torch.Tensor.mul", other=TENSOR)
    (saved,) = [dict(product.saves)]
    (first,) = product.saves.keys() - {"other"}
    assert saved == {first: frozenset({"other"}), "other": frozenset({first})}


def test_an_exponential_saves_its_result() -> None:
    assert behaviour("torch.exp").saves == {"out0": frozenset({"input"})}


def test_dropout_hangs_on_training_and_p() -> None:
    assert behaviour("torch.nn.functional.dropout").outputs[0].alias == ("fresh",)
    assert behaviour("torch.nn.functional.dropout", training=False).outputs[0].alias == ("same:input",)
    assert behaviour("torch.nn.functional.dropout", p=0.0).outputs[0].alias == ("same:input",)
    assert behaviour("torch.nn.functional.dropout", inplace=True).inplace == "input"


def test_what_is_not_known_is_folded() -> None:
    folded = behaviour("torch.nn.functional.dropout", training=UNKNOWN)
    assert folded.holds == frozenset()
    assert folded.maybe_holds == {"input"}
    assert set(folded.outputs[0].alias) == {"same:input", "fresh"}
    assert folded.outputs[0].grad == {"input"}
    assert folded.inplace is None
    assert behaviour("torch.nn.functional.relu", inplace=UNKNOWN).maybe_inplace == {"input"}
    assert behaviour("torch.nn.functional.relu", inplace=UNKNOWN).saves == {"out0": frozenset({"input"})}


def test_a_maximum_over_a_dimension_gives_values_and_indices() -> None:
    pair = behaviour("torch.max", dim=1)
    assert pair.fields == ("values", "indices")
    assert pair.returns == (0, 1)
    assert [output.grad for output in pair.outputs] == [{"input"}, frozenset()]
    assert behaviour("torch.max").returns == 0
    assert behaviour("torch.max", dim=UNKNOWN).returns == "?"


def test_a_module_tells_its_parameters_by_the_arguments_of_its_constructor() -> None:
    linear = find_module("torch.nn.modules.linear.Linear")
    assert linear is not None
    assert list(linear.parameters({}).items()) == [("weight", Certainty.YES), ("bias", Certainty.YES)]
    assert linear.parameters({"bias": False}) == {"weight": Certainty.YES}
    assert linear.parameters({"bias": UNKNOWN})["bias"] is Certainty.MAYBE


def test_a_module_in_an_unknown_mode_is_folded() -> None:
    dropout = find_module("torch.nn.Dropout")
    assert dropout is not None
    assert dropout.behaviour(True, {}).holds == {"input"}
    assert dropout.behaviour(False, {}).holds == frozenset()
    assert dropout.behaviour(None, {}).maybe_holds == {"input"}


def test_unknown_names_are_none() -> None:
    assert find_op("torch.no_such_function") is None
    assert find_module("torch.nn.NoSuchModule") is None


def op_with(when: dict[str, list[Any]], *params: str) -> Op:
    """An op whose result does not require grad where the condition holds."""
    case = {"when": when, "outputs": [{"alias": "fresh", "grad": []}]}
    return Op("op", {"params": ["input", *params], "outputs": [FRESH], "cases": [case]})


@pytest.mark.parametrize(
    ("alternative", "value", "expected"),
    [
        ("number", 2, Certainty.YES),
        ("number", NUMBER, Certainty.YES),
        ("number", TENSOR, Certainty.NO),
        ("number", UNKNOWN, Certainty.MAYBE),
        ("tensor", TENSOR, Certainty.YES),
        ("tensor", 1.5, Certainty.NO),
        ("sequence", SEQUENCE, Certainty.YES),
        ("sequence", [1, 2], Certainty.YES),
        ("none", None, Certainty.YES),
        ("none", "none", Certainty.NO),
        ("=none", "none", Certainty.YES),
        ("=none", None, Certainty.NO),
        ("given", 0, Certainty.YES),
        ("given", None, Certainty.NO),
        ("string", "mean", Certainty.YES),
        ("integral", "torch.int64", Certainty.YES),
        ("integral", "torch.long", Certainty.YES),
        ("integral", "torch.float32", Certainty.NO),
        ("integral", OBJECT, Certainty.NO),
        ("mean", OBJECT, Certainty.NO),
        ("given", OBJECT, Certainty.YES),
        ("inf", float("inf"), Certainty.YES),
        ("inf", 2.0, Certainty.NO),
        ("inf", NUMBER, Certainty.MAYBE),
        (True, True, Certainty.YES),
        (True, 1, Certainty.NO),
        (0, 0.0, Certainty.YES),
        (0, False, Certainty.NO),
        (0, NUMBER, Certainty.MAYBE),
        (0, UNKNOWN, Certainty.MAYBE),
        ("mean", "mean", Certainty.YES),
        ("mean", "sum", Certainty.NO),
    ],
)
def test_conditions(alternative: object, value: object, expected: Certainty) -> None:
    output = op_with({"p": [alternative]}, "p").behaviour({"p": value}).outputs[0]
    sure = {Certainty.YES: frozenset[str](), Certainty.NO: frozenset({"input"}), Certainty.MAYBE: frozenset[str]()}
    assert output.grad == sure[expected]
    assert output.maybe_grad == (frozenset({"input"}) if expected is Certainty.MAYBE else frozenset())


def test_an_absent_argument_has_its_default() -> None:
    assert op_with({"p": [False]}, "p=false").behaviour({}).outputs[0].grad == frozenset()
    assert op_with({"p": ["none"]}, "p=null").behaviour({}).outputs[0].grad == frozenset()
    assert op_with({"p": ["given"]}, "p").behaviour({}).outputs[0].grad == {"input"}


def test_one_and_true_are_not_taken_for_each_other() -> None:
    op = op_with({"p": [1]}, "p")
    assert op.behaviour({"p": True}).outputs[0].grad == {"input"}
    assert op.behaviour({"p": 1}).outputs[0].grad == frozenset()


def test_facts_on_arguments_are_unknown_until_told_and_tensors_presumed_contiguous() -> None:
    rank = op_with({"input.ndim": [1, 2]})
    assert rank.behaviour({"input": TENSOR}).outputs[0].maybe_grad == {"input"}
    assert rank.behaviour({"input": TENSOR, "input.ndim": 2}).outputs[0].grad == frozenset()
    assert rank.behaviour({"input": TENSOR, "input.ndim": 3}).outputs[0].grad == {"input"}
    assert op_with({"input.contiguous": [False]}).behaviour({}).outputs[0].grad == {"input"}


def test_the_first_case_that_holds_wins_and_the_rest_is_inherited() -> None:
    op = Op(
        "op",
        {
            "params": ["input", "a", "b"],
            "outputs": [FRESH],
            "saves": {"input": ["input"]},
            "holds": ["input"],
            "cases": [{"when": {"a": [1], "b": [1]}, "saves": {}}, {"when": {"a": [1]}, "holds": []}],
        },
    )
    both, one = op.behaviour({"a": 1, "b": 1}), op.behaviour({"a": 1, "b": 2})
    assert (dict(both.saves), both.holds) == ({}, {"input"})
    assert (dict(one.saves), one.holds) == ({"input": frozenset({"input"})}, frozenset())
    open_one = op.behaviour({"a": 1, "b": UNKNOWN})
    assert (dict(open_one.saves), open_one.holds) == ({}, frozenset())
    assert (dict(open_one.maybe_saves), open_one.maybe_holds) == ({"input": frozenset({"input"})}, {"input"})


def test_signatures_are_read() -> None:
    op = Op("op", {"params": ["self", "*size", "dtype=null"], "outputs": []})
    assert [(p.name, p.kind, p.default) for p in op.parameters] == [
        ("self", "positional", REQUIRED),
        ("size", "varargs", REQUIRED),
        ("dtype", "keyword", None),
    ]


def test_all_entries_can_be_read() -> None:
    for name in TABLE["ops"]:
        op = find_op(name)
        assert op is not None
        assert op.behaviour({}).outputs
        assert op.behaviour({p.name: UNKNOWN for p in op.parameters}).outputs or op.name
    for name in TABLE["modules"]:
        spec = find_module(name)
        assert isinstance(spec, ModuleSpec)
        assert spec.behaviour(None, {}).outputs
        assert spec.parameters({}).keys() <= {each["name"] for each in TABLE["modules"][name]["parameters"]}
        assert spec.buffers({}).keys() <= set(TABLE["modules"][name]["buffers"])
