"""Plain data of unknown value: numbers, texts, arrays, files, options. It is no tensor and holds none.

Nothing that could matter to a gradient is lost with it, and what goes through it has no graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence, Set
from functools import cache

from gradpath.interpreter.origins import Attribute, Call, Computed, Item, Library, Made
from gradpath.interpreter.values import Unknown, Value
from gradpath.overlays.presumed.places import place_of
from gradpath.overlays.presumed.roles import is_option, role_of_name
from gradpath.source.index import contents, inside, names_in, names_of
from gradpath.source.nodes import last_name, nodes, noted
from gradpath.support.lazy_regex import regex
from gradpath.support.traversal import reachable

_OPTIONS = """
argparse click configargparse configparser fire gin json omegaconf six tokenizers tomllib toml types typing
typing_extensions tyro yacs yaml

hydra.compose hydra.initialize hydra.main
"""

_TRANSFORMS = frozenset({"albumentations", "torchvision.transforms"})
"""Libraries whose objects change what they are given and have no weights."""

_FILES = """
IPython PIL __future__ abc absl base64 calendar codecs csv cv2 datetime distutils errno getpass git glob gym gymnasium
h5py hashlib html imageio importlib_metadata io librosa locale logging loguru math matplotlib mlflow nltk numpy os
packaging pandas pathlib pkg_resources platform plotly posixpath pprint psutil random re regex requests rich scipy
seaborn secrets shlex shutil signal skimage sklearn socket soundfile sqlite3 string struct subprocess sys tabulate
tempfile tensorboard tensorboardX termcolor textwrap time timeit traceback tracemalloc urllib uuid visdom wandb warnings
zipfile

pytest.approx pytest.fixture pytest.mark torch.autograd.profiler torch.backends torch.cuda.Event
torch.cuda.current_device torch.cuda.device_count torch.cuda.get_device_capability torch.cuda.get_device_name
torch.cuda.get_device_properties torch.cuda.max_memory_allocated torch.cuda.memory_allocated torch.cuda.memory_reserved
torch.cuda.nvtx torch.cuda.reset_peak_memory_stats torch.cuda.set_device torch.profiler torchvision.datasets
torchvision.utils
torch.distributed.barrier torch.distributed.get_rank torch.distributed.get_world_size
torch.distributed.init_process_group torch.distributed.is_available torch.distributed.is_initialized
torch.optim.lr_scheduler torch.testing torch.utils.data.distributed torch.utils.tensorboard
transformers.AutoTokenizer transformers.get_constant_schedule_with_warmup transformers.get_cosine_schedule_with_warmup
transformers.get_linear_schedule_with_warmup transformers.get_scheduler transformers.set_seed
"""

_NUMPY = frozenset({"numpy"})

_OF_ANYTHING = _TRANSFORMS | frozenset(_OPTIONS.split())
"""Libraries, and modules of them, that give data where they are given data: options may hold functions as well."""

_OF_DATA = frozenset(_FILES.split())
"""Libraries, and modules of them, that give data whatever they are given."""

_TEXTS = frozenset({"Path", "PathLike", "bool", "bytes", "str"})
_TYPES = _TEXTS | {"float", "int", "ndarray"}
_HOLDERS = frozenset({"Dict", "List", "Optional", "Sequence", "Tuple", "Union", "dict", "list", "tuple"})

TELLING = frozenset({"device", "dtype", "is_cuda", "is_leaf", "ndim", "requires_grad", "shape", "training"})
"""Attributes of tensors and modules that are data."""

_MEASURING = frozenset({"dim", "element_size", "get_device", "ndimension", "nelement", "numel", "size"})
"""Methods of tensors that give data."""


def is_library(name: str) -> bool:
    """True if a dotted name is one of a library of data."""
    return _is_in(_OF_DATA, name) or _is_in(_OF_ANYTHING, name)


def is_part(owner: Unknown, name: str) -> bool:
    """True if an attribute of what an import gave is a library of data, as `torchvision.transforms` is."""
    return is_library(f"{_imported_name(owner)}.{name}")


def is_transform(value: Unknown) -> bool:
    """True if a value is an object without weights that changes what it is given: `transforms.Compose([...])`."""
    return _is_in(_TRANSFORMS, _imported_name(value))


def _imported_name(value: object) -> str:
    """The dotted name of what an import gave, as far as attributes were read of it one after the other."""
    names: list[str] = []
    while isinstance(value, Unknown):
        match value.origin:
            case Library(name=library):
                return ".".join((library, *reversed(names)))
            case Attribute(of=of, name=name):
                names.append(name)
                value = of
            case Call(of=of) | Item(of=of):
                names.clear()
                value = of
            case _:
                break
    return ""


@cache
def _is_in(libraries: frozenset[str], name: str) -> bool:
    """True if a dotted name is one of some libraries or modules, or of what is in them."""
    parts = name.split(".")
    return any(".".join(parts[:count]) in libraries for count in range(1, len(parts) + 1))


def is_of_library(value: Unknown) -> bool:
    """True if a value comes from a library that gives data whatever it is given."""
    match value.root:
        case Library(name=name):
            return value.is_data and (_is_in(_OF_DATA, name) or _is_in(_OF_DATA, _imported_name(value)))
        case Computed(made=Made.DRAWN):
            return True
    return False


def is_array(value: Unknown) -> bool:
    """True if a value is an array that NumPy made, or is computed from one."""
    match value.origin:
        case Computed(made=Made.ARRAY):
            return True
        case Computed(made=Made.ARITHMETIC, sources=sources):
            return value.is_data and any(isinstance(each, Unknown) and is_array(each) for each in sources)
        case Call():
            return value.is_data and _is_in(_NUMPY, _imported_name(value))
    return False


_DRAWING = {"normal": 3, "rand": 1, "randn": 1, "random": 1, "standard_normal": 1, "uniform": 3}
"""What draws doubles, with the number of arguments from which on it gives an array of them, and no number."""


def holds_doubles(value: Unknown) -> bool:
    """True if a value is an array that NumPy has drawn from a continuous distribution."""
    match value.origin:
        case Call(of=of, name=name, arguments=arguments) if len(arguments) >= _DRAWING.get(name, len(arguments) + 1):
            return arguments[-1] is not None and _imported_name(of) == f"numpy.random.{name}"
    return False


def gives_data(callee: Unknown) -> bool:
    """True if calling something unknown gives data."""
    return is_of_library(callee) or (callee.owner is not None and callee.name in _MEASURING)


@noted
def matched(body: ast.AST) -> frozenset[tuple[ast.AST, int]]:
    """The items of results that a body compares for equality with something else, as classes are: call and number."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    given: dict[str, list[tuple[ast.AST, int]]] = {}
    for node in nodes(body):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                pairs.append((left, right))
            case ast.Call(func=ast.Attribute(value=left, attr="eq" | "ne"), args=[right]):
                pairs.append((left, right))
            case ast.Call(func=ast.Attribute(attr="eq" | "ne"), args=[left, right]):
                pairs.append((left, right))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as call):
                for number, target in enumerate(targets):
                    if isinstance(target, ast.Name):
                        given.setdefault(target.id, []).append((call, number))
    sides = [(place_of(left), place_of(right)) for left, right in pairs if not isinstance(right, ast.Constant)]
    told = {each for pair in sides if len({*pair}) > 1 for each in pair}
    return frozenset(item for name in told for item in given.get(name, ()))


@noted
def partly_detached(body: ast.AST) -> frozenset[ast.AST]:
    """The calls of a body that give several values, one of which it detaches to compute with it: `returns.detach()`."""
    detached: set[str] = set()
    given: list[tuple[ast.AST, set[str]]] = []
    for node in nodes(body):
        used: Sequence[ast.expr] = ()
        match node:
            case ast.BinOp(left=left, right=right):
                used = (left, right)
            case ast.Call(func=func, args=args) if role_of_name(last_name(func)) == "loss":
                used = args
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as call):
                given.append((call, {each.id for each in targets if isinstance(each, ast.Name)}))
            case ast.Assign(value=value):
                used = value.elts if isinstance(value, ast.Tuple) else (value,)
        for each in used:
            match each:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="detach")):
                    detached.add(name)
    return frozenset(call for call, names in given if not names.isdisjoint(detached))


@noted
def entries_left_out(body: ast.AST) -> frozenset[str]:
    """The keys of entries that a body takes out of what it gets, and that lead to none of the backwards in it."""
    roots, leading, sources = _leading(body)
    learnt = [*roots, *(value for name in leading for value in sources.get(name, ()))]
    taken = _keys([body]) if roots else set()
    return frozenset(taken - _keys(learnt))


@noted
def parts_left_out(body: ast.AST) -> frozenset[tuple[ast.AST, int]]:
    """The values that a body takes one by one from a call, and that lead to none of its backwards: call and number."""
    roots, leading, _ = _leading(body)
    return frozenset(
        (statement.value, number)
        for statement in (inside(body, ast.Assign) if roots else ())
        if isinstance(statement.targets[0], ast.Tuple)
        for number, target in enumerate(statement.targets[0].elts)
        if isinstance(target, ast.Name) and target.id not in leading
    )


@noted
def giving_functions(body: ast.AST) -> frozenset[ast.AST]:
    """The calls of a body that give what it calls, or several values with that: `part, weights = model.fitted(x)`."""
    called = {each.func.id for each in inside(body, ast.Call) if isinstance(each.func, ast.Name)}
    return frozenset(
        each.value for each in inside(body, ast.Assign) if not called.isdisjoint(names_of(each.targets[0]))
    )


def _leading(body: ast.AST) -> tuple[list[ast.Call], set[str], dict[str, list[ast.expr]]]:
    """The backwards of a body, the names that lead to them, and what it assigns to each name."""
    roots = [each for each in inside(body, ast.Call) if "backward" in last_name(each.func)]
    leading = {name for each in roots for name in names_in(each)}
    sources: dict[str, list[ast.expr]] = {}
    for node in nodes(body):
        match node:
            case ast.Assign(targets=targets, value=value):
                for name in {name for each in targets for name in names_of(each)}:
                    sources.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                sources.setdefault(name, []).append(value)
    found = reachable(leading, lambda name: (one for each in sources.get(name, ()) for one in names_in(each)))
    return roots, set(found), sources


def _keys(codes: Iterable[ast.AST]) -> set[str]:
    found = (each.slice for code in codes for each in inside(code, ast.Subscript))
    return {each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def keeps_gradients(body: ast.AST, layer: str) -> bool:
    """True if a layer has gradients itself, `layer.grad_bias`: autograd leaves none there, so it has no part in it."""
    read = (each.attr for each in contents(body).attributes if last_name(each.value) == layer)
    return any(_GRADIENT.search(each) for each in read)


_GRADIENT = regex(r"^grad(ient)?s?_(?!fn$)|(?<!requires)_grad(ient)?s?$")


def is_parameter(argument: ast.arg, default: Value) -> bool:
    """True if a parameter takes plain data, by its annotation, its default or its name."""
    if argument.annotation is None and isinstance(default, (int, float)) and default != 0:
        return True  # Whatever it is called: `p_loss=3.0` is no loss.
    if argument.annotation is not None and _is_type(argument.annotation, _TEXTS):
        return True  # The `model: str` that is built; a loss may well be annotated as a number.
    if role_of_name(argument.arg):
        return False
    if argument.annotation is not None and _is_type(argument.annotation, _TYPES):
        return True
    return isinstance(default, (bool, str)) or is_option(argument.arg)


def _is_type(node: ast.expr, types: Set[str]) -> bool:
    """True if an annotation is one of some types, or a container of them, or nothing."""
    match node:
        case ast.Constant(value=value):
            return value is None or value is ...
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in types
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=parts)) if name in _HOLDERS:
            return all(_is_type(each, types) for each in parts)
        case ast.Subscript(value=ast.Name(id=name), slice=part) if name in _HOLDERS:
            return _is_type(part, types)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_type(left, types) and _is_type(right, types)
    return False
