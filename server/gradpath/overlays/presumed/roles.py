"""Naming conventions: the role that a name suggests, such as model, loss, optimizer, loader or engine."""

from __future__ import annotations

import re
from functools import cache

from gradpath.autograd.tensor import LOSSES
from gradpath.interpreter.kinds import OF_TENSORS, Kind
from gradpath.interpreter.origins import Attribute, Call, Item, Library, Parameter
from gradpath.interpreter.values import Class, Unknown, Value
from gradpath.support.fast_dataclasses import dataclass
from gradpath.support.lazy_regex import regex

MODEL = regex(
    r"^(?!_?(get|build|create|make|load|init|setup|save|update|train|eval|test|run|fit|step|reset|set|freeze|"
    r"opt|optim|optimi[sz]er|sched|scheduler|loss|lr|n|nb|num|dim|size|d(?=_model$))_)"
    r"_?([a-z0-9_]+_)?(model|net|network|generator|discriminator|encoder|decoder|backbone|actor|critic|policy|classifier|"
    r"student|teacher|gen|disc|unet|rnn|lstm|gru|cnn|mlp|transformer|autoencoder|vae)"
    r"(_?(targ|target|tgt|ema|old|(?!(bs|dl|ds|ep|fn|fp|id|lr|op|rb|wd)$)[a-z0-9A-Z]{1,2}))?$"
    r"|^_?(model|ds|deepspeed)_engine$|^(net|model)[A-Z]\w*$|^(net|model)_?[GDEF](_[A-Za-z0-9]+|\d)?$"
    r"|^_?[GDEF](_([A-Z]{1,2}|[A-Z]2[A-Z]|[abst]|ab|ba|copy|ema|model|net|shadow|source|src|target|tgt)?\d?|\d)?$"
)
ENGINE = regex(
    r"^_?(.*_)?(accelerator|fabric|engine|scaler|optimi[sz]er|manager|strategy|trainer|amp|backend)s?\d?$", re.I
)
LOSS = regex(
    r"^_?(.*_)?(criterion\w*|criteria|crit|loss_?(fn|func|function|f|criterion|module)?\d?|lossfn|objective)$", re.I
)
CRITERION = regex(
    r"^_?(.*_)?(bce|ce|cross_?entropy|dice|focal|hinge|huber|kl|kld|kl_?div|l1|l2|mae|mse|nll|triplet)(_?loss)?$", re.I
)
OPTIMIZER = regex(r"^_?(.*_)?(opt|optim|optimi[sz]er)s?(_\w+|\w?)$|(?-i:^opt(im)?[A-Z]\w*$)", re.IGNORECASE)
LOADER = regex(
    r"^_?(.*_)?(loader|dataloader|batches|dataset|data_iter|iterator|train_iter|train_dl|dl)s?(_\w+)?$", re.I
)
TARGET = regex(
    r"^(.*_)?(targets?|tgt|labels?|lbl|y|gts?|ground_?truths?|trues?|truths?|masks?|weights?)\d?$|^(gt|true)_", re.I
)
"""Names of what a loss function is given beside the prediction."""

OPTION = regex(
    r"^_?(args?|cfg|conf|config|hparams|options|opts|flags|settings|logger|writer|tb_writer|summary_writer|device|dtype|"
    r"eps|epsilon|lr|learning_rate|momentum|weight_decay|smoothing|[a-z_]+_smoothing|epochs?|iterations?|global_step|batch_idx|seed|verbose|path|filename|n_[a-z_]+|num_[a-z_]+|"
    r"[a-z_]+_(args|cfg|config|dims?|dir|epochs|file|filename|len|length|names?|path|size))$"
)

PREPARING = regex(
    r"^_?(add_noise|augment|blur|collate|corrupt|crop|cut_?mix|de_?normali[sz]e|down_?sample|flip|jitter|mix_?up|"
    r"normali[sz]e|one_?hot|pad|patchify|pre_?process|q_sample|resi[sz]e|tokeni[sz]e|to_device|transform(?!er)|un_?fold|"
    r"up_?sample)(s|_\w+|[A-Z]\w*|ation|d)?$"
)
"""Names of what prepares data for a model, and has no weights."""

LAYER = regex(
    r"^_?([a-z0-9]+_)*(block|branch|conv|decoder|embed|embedding|embeddings|encoder|extractor|fc|head|layer|linear|"
    r"proj|projection|projector|stem|tower|trunk)_?\d?$"
)
"""Names of what a model computes with: layers, and parts of several."""


@dataclass(frozen=True, slots=True)
class Promise:
    """The role that names of a pattern suggest, where the program's uses do not determine it.

    `case` is the page and the heading in `tests/cases` of a program that shows it.
    """

    id: str
    pattern: re.Pattern[str]
    because: str
    case: str


PROMISES: tuple[Promise, ...] = (
    Promise("model", MODEL, "networks are called what they are", "presumptions/kinds.md#a-model"),
    Promise("loss", LOSS, "so are criteria", "presumptions/kinds.md#a-loss"),
    Promise("optimizer", OPTIMIZER, "so are optimizers", "presumptions/effects.md#called-an-optimizer,-and-handed-on"),
    Promise("loader", LOADER, "so are loaders and data sets", "presumptions/kinds.md#an-item-of-a-loader"),
)
"""The table of naming conventions: the first row whose pattern matches decides."""

_OPTIMIZER_PART = regex(r"opt(im(i[sz]er)?)?s?", re.I)
_MODEL_PART = regex(r"^_?(net|model)_?(?=\w)|_?(net|network|model|module)$", re.I)


SETTINGS = "settings"
"""The role of what is called like an optimizer, as `opt` is, and is used as settings are."""

TENSOR = "tensor"
"""The role of what is called like a model, as `E` is, and is used as only tensors are."""


@cache
def role_of_name(name: str) -> str:
    """The role that a name suggests: "model", "loss", "optimizer", "loader", or "" for none."""
    return next((row.id for row in PROMISES if row.pattern.match(name)), "")


@cache
def names_loss(name: str) -> bool:
    """True if what is called like that computes a loss, be it of the program or of PyTorch: `cross_entropy`."""
    return role_of_name(name) == "loss" or CRITERION.match(name) is not None or name.endswith(LOSSES)


@cache
def names_batches(name: str) -> bool:
    """True if the name of a loader says that it gives batches; the items of a data set are single samples."""
    return role_of_name(name) == "loader" and _SAMPLES.match(name) is None


@cache
def names_memory(name: str) -> bool:
    """True if the name of an object says that it keeps what an agent met, and so gives batches of it."""
    return _MEMORY.match(name) is not None


@cache
def names_penalty(name: str) -> bool:
    """True if the name of a function says that it computes a gradient penalty."""
    return _PENALTY.search(name.rpartition(".")[2]) is not None


_PENALTY = regex(r"grad(ient)?_?penalty|(^|_)gp(_|$)", re.I)
_MEMORY = regex(r"^_?(\w+_)?(buffer|memory|replay)$", re.I)
_SAMPLES = regex(r"^_?(.*_)?datasets?(_\w+)?$", re.I)


def role_of(value: Value) -> str:
    """The presumed role of an unknown value: by its use, by its own name or else by the variable that holds it.

    What a network gives is none, whatever it is called, as in `gen = self.G(z)`, nor what is probably a number or a
    text or a class: `encoder="resnet50"`, `actor_critic=core.MLPActorCritic`. Nor is a file that is imported, such as
    `models` of `from models import Encoder`.
    """
    if not isinstance(value, Unknown) or (not value.role and _is_no_object(value.hint)):
        return ""
    if value.role:
        return value.role
    if isinstance(value.origin, Library):
        return ""
    role = _role_of_kept(value) or role_of_name(value.name or value.label)
    of_data = value.is_data and isinstance(value.origin, Attribute)  # `self.opt`, which is read like settings.
    data = role and (of_data or is_of_settings(value))  # `cfg.model` has the settings of a model.
    data = data or (role == "loader" and _is_from_file(value))  # Tensors in a file may require gradients.
    return "" if data or (role == "model" and value.kind in OF_TENSORS) else role


def _is_from_file(value: Unknown) -> bool:
    return isinstance(value.root, Library) and value.root.name == "torch.load"


def _role_of_kept(value: Unknown) -> str:
    """The role of `nets["encoder"]`, `optimizers[0]` and `optims.encoder`: that of what they are kept in.

    What a model has under the name of a layer is a part of it: `policy.action_layer`.
    """
    match value.origin:
        case Item(of=Unknown(is_data=False) as holder, key=str() | int()) if not isinstance(holder.origin, Item):
            role = role_of(holder)
            several = (holder.name or holder.label).endswith("s")
            return role if role in ("optimizer", "loss") or (role == "model" and several) else ""
        case Attribute(of=Unknown(name=name, label=label) as holder) if (name or label).endswith("s"):
            return "optimizer" if role_of(holder) == "optimizer" else ""
        case Attribute(of=Unknown(is_data=False) as holder, name=name) if LAYER.match(name):
            return "model" if role_of(holder) == "model" else ""
    return ""


def _is_no_object(hint: Value) -> bool:
    return isinstance(hint, (int, float, str, Class)) or (isinstance(hint, Unknown) and hint.name[:1].isupper())


_SETTINGS = regex(r"^_?(.*_)?(args|cfg|conf|config|opts?|options|hparams|hps?|params|flags|settings)$", re.I)


def is_setting(value: Value) -> bool:
    """True if an unknown value is a number that a program is set by: a parameter, or `args.beta`, `cfg["beta"]`."""
    if not isinstance(value, Unknown) or value.kind is not Kind.ANYTHING:
        return False
    if isinstance(value.origin, Parameter):
        return role_of(value) in ("", SETTINGS)
    owner = value.origin.of if isinstance(value.origin, (Attribute, Item)) else None
    return isinstance(owner, Unknown) and (_holds_settings(owner) or is_setting(owner))


def is_of_settings(value: Unknown) -> bool:
    """True if an unknown value is read out of settings: `args.beta`, `cfg["beta"]`, `conf.get("beta", 1)`."""
    match value.origin:
        case Attribute(of=Unknown() as owner) | Item(of=Unknown() as owner):
            return _holds_settings(owner) or is_of_settings(owner)
        case Call(of=Unknown(name="get", owner=Unknown() as owner)):
            return _holds_settings(owner) or is_of_settings(owner)
    return False


def _holds_settings(owner: Unknown) -> bool:
    return owner.role == SETTINGS or _SETTINGS.match(owner.name or owner.label) is not None


_NUMBER = regex(r"[0-9]+$")


def called(value: Unknown) -> str:
    """What a program calls something unseen: `optimizer_actor` for `optimizers["actor"]` and `optimizers.actor`.

    One that has a place in a list is called what the list is, unless its own name says for whom it is an optimizer.
    """
    name = value.name or value.label
    match value.origin:
        case Item(of=Unknown() as owner, key=str() as key) | Attribute(of=Unknown() as owner, name=key):
            role = role_of(owner)
            if role == "optimizer" or (role == "model" and isinstance(value.origin, Item)):
                return key if role_of_name(key) == role else f"{(owner.name or owner.label).rstrip('s')}_{key}"
        case Item(of=Unknown() as owner):
            own = role_of_name(name) == "optimizer" and part_of_optimizer(name)
            return name if own else called(owner) or name
    return name


@cache
def part_of_optimizer(name: str) -> str:
    """The model of an optimizer, by its name: `actor` for `actor_optimizer` and `opt_actor`, "" for `optimizer`.

    Of the name of one that is known by its use alone only a number counts: `2` for `o2`.
    """
    if OPTIMIZER.match(name):
        return _OPTIMIZER_PART.sub("", name, count=1).strip("_").lower()
    number = _NUMBER.search(name)
    return number[0] if number else ""


@cache
def part_of_model(name: str) -> str:
    """The same of a model: `g` for `netG` and `G`, `actor` for `actor_net`, "" for `model`."""
    return _MODEL_PART.sub("", name, count=1).strip("_").lower()


@cache
def is_option(name: str) -> bool:
    """True if a name promises options, numbers, texts or places to write to: nothing that is a tensor."""
    return OPTION.match(name) is not None and not role_of_name(name)


def is_of_its_own(owner: Unknown) -> bool:
    """True if a model or an optimizer has a distinguishing name, so that it clears nothing of others of its kind."""
    name = called(owner)
    return bool(part_of_optimizer(name) if role_of(owner) == "optimizer" else part_of_model(name))


@cache
def prepares(name: str) -> bool:
    """True if a name is that of a function that prepares data for a model."""
    return PREPARING.match(name) is not None


def is_schedule(place: str) -> bool:
    """True if the name of what is stepped is that of a schedule of learning rates, which moves no parameter."""
    return _SCHEDULE.search(place) is not None


_SCHEDULE = regex(r"sched|warm_?up", re.IGNORECASE)


def is_scaler(name: str) -> bool:
    """True if a name is that of what scales a loss: one that is called does all that follows as well."""
    return name.lower().endswith("scaler")


def steps_along(place: str) -> bool:
    """True if the name of what is stepped is that of a companion of an optimizer: a schedule, a profiler, a world."""
    return _COMPANION.search(place) is not None


_COMPANION = regex(r"sched|env|prof|lr|warm|ema|bar|timer", re.IGNORECASE)
