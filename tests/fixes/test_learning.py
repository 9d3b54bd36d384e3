"""No fix that is safe or preferred changes who learns from what: PyTorch compares it with the right program."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradpath.analysis.check import check
from gradpath.analysis.fix_validation import mended
from gradpath.diagnostic import Fix, Safety
from gradpath.fixes.lessons import Change, Taught, costs
from gradpath.repairs import Cost, Transformation
from gradpath.source.document import Document
from gradpath.source.edits import apply_edits
from tests.documents.grammar import Source
from tests.documents.pytorch import outcome_of
from tests.fixes.learners import ROOT, complaints, programs
from tests.fixes.numbers import Numbers, difference, watched

WORLD = """
import torch
from torch import nn

torch.manual_seed(0)
world, head, actor = nn.Linear(4, 8), nn.Linear(8, 4), nn.Linear(8, 2)
world_opt = torch.optim.SGD([*world.parameters(), *head.parameters()], lr=0.1)
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
for step in range(3):
    obs, target = torch.randn(16, 4), torch.randn(16, 4)
    latent = torch.tanh(world(obs))
    model_loss = (head(latent) - target).pow(2).mean()
    actor_loss = -actor(latent).pow(2).mean()
    world_opt.zero_grad()
    actor_opt.zero_grad()
    model_loss.backward()
    actor_loss.backward()
    world_opt.step()
    actor_opt.step()
"""
NORMALISED = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
initial = None
for step in range(4):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    losses = (model(x) - y).pow(2).mean(dim=0)
    if initial is None:
        initial = losses
    loss = (losses / initial).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NORMALISED_IN_A_CLASS = """
import torch
from torch import nn


class Balancer:
    def __init__(self):
        self.initial = None

    def __call__(self, losses):
        if self.initial is None:
            self.initial = losses
        return (losses / self.initial).sum()


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
balance = Balancer()
for step in range(4):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    losses = (model(x) - y).pow(2).mean(dim=0)
    loss = balance(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
NORMALISED_SUM = NORMALISED.replace("(losses / initial).sum()", "losses.sum() / initial.sum()")
RELATIVE = NORMALISED_IN_A_CLASS.replace(
    "(losses / self.initial).sum()", "torch.log(losses.mean()) - torch.log(self.initial.mean())"
)
RATIO = """
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
states, actions, advantages = torch.randn(8, 4), torch.randint(0, 2, (8, 1)), torch.randn(8, 1)
old = None
for epoch in range(4):
    log_probs = torch.log_softmax(policy(states), dim=1).gather(1, actions)
    if old is None:
        old = log_probs
    loss = -(torch.exp(log_probs - old) * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ADVERSARIAL = """
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(3, 4), nn.Linear(4, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for step in range(3):
    fake = G(torch.randn(8, 3))
    opt_d.zero_grad()
    d_loss = D(fake).mean() - D(torch.randn(8, 4)).mean()
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = -D(fake).mean()
    g_loss.backward()
    opt_g.step()
"""
ADVANTAGE = """
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(3):
    states, returns = torch.randn(8, 4), torch.randn(8)
    log_probs = torch.log_softmax(actor(states), dim=1)[:, 0]
    advantage = returns - critic(states).squeeze(1)
    actor_loss = -(log_probs * advantage).mean()
    critic_loss = advantage.pow(2).mean()
    actor_opt.zero_grad()
    critic_opt.zero_grad()
    actor_loss.backward()
    critic_loss.backward()
    actor_opt.step()
    critic_opt.step()
"""
TWO_TERMS = """
import torch
from torch import nn

torch.manual_seed(0)
body, left, right = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
for step in range(3):
    shared = torch.tanh(body(torch.randn(16, 4)))
    one, other = left(shared).pow(2).mean(), right(shared).pow(2).mean()
    optimizer.zero_grad()
    one.backward()
    other.backward()
    optimizer.step()
"""
ROWS = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
out = model(torch.randn(5, 4))
for index in range(out.shape[1]):
    model.zero_grad()
    out[0, index].backward()
    print(model.weight.grad)
"""
PRODUCTS = """
import torch
from torch import nn


def products(loss, parameters, vectors):
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    found = []
    for vector in vectors:
        found.append(torch.autograd.grad(gradients, parameters, grad_outputs=vector))
    return found


torch.manual_seed(0)
model = nn.Linear(4, 3)
parameters = list(model.parameters())
vectors = [[torch.randn_like(each) for each in parameters] for _ in range(3)]
for found in products(model(torch.randn(5, 4)).pow(2).mean(), parameters, vectors):
    print(*found)
"""
TRAINED_ONCE = """
import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, target = torch.randn(16, 4), torch.randn(16, 1)
encoded = encoder(inputs)
for epoch in range(3):
    loss = (head(encoded) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STEP_IN_THE_LOOP = """
import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
memory = torch.zeros(8)
for step, x in enumerate(torch.randn(4, 4)):
    memory = memory + torch.tanh(encoder(x))
    loss = head(memory).pow(2).mean() / 2
    loss.backward()
    if (step + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
STEP_PAST_A_CLEAR = """
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)


def clear():
    opt_g.zero_grad()
    opt_d.zero_grad()


for step in range(3):
    fake = G(torch.randn(8, 3))
    judged = D(fake)
    d_loss = judged.mean() - D(torch.randn(8, 4)).mean()
    clear()
    d_loss.backward(retain_graph=True)
    opt_d.step()
    g_loss = -judged.mean()
    clear()
    g_loss.backward()
    opt_g.step()
"""
LEARNT_START = """
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(4, 4), nn.Linear(4, 1)
start = nn.Parameter(torch.randn(1, 4))
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters(), start], lr=0.1)
state = start
for x in torch.randn(4, 1, 4):
    state = cell(x, state)
    loss = head(state).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TEMPERATURE = """
import torch


class Trainer:
    def __init__(self, critic, policy, critic_opt, policy_opt, alpha_opt, log_alpha):
        self.critic, self.policy, self.log_alpha = critic, policy, log_alpha
        self.critic_opt, self.policy_opt, self.alpha_opt = critic_opt, policy_opt, alpha_opt

    def update(self, obs, target):
        action = torch.tanh(self.policy(obs))
        entropy = action.pow(2).mean()
        alpha_loss = -(self.log_alpha * (entropy - 1).detach()).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        policy_loss = self.log_alpha.exp().detach() * entropy - self.critic(torch.cat([obs, action], 1)).mean()
        critic_loss = (self.critic(torch.cat([obs, action.detach()], 1)) - target).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        self.policy_opt.zero_grad()
        policy_loss.backward()
        self.policy_opt.step()
"""
CALLED = """

from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
policy, log_alpha = nn.Linear(3, 2), torch.zeros(1, requires_grad=True)
optimizers = [torch.optim.SGD(each, lr=0.1) for each in (critic.parameters(), policy.parameters(), [log_alpha])]
trainer = Trainer(critic, policy, *optimizers, log_alpha)
for _ in range(2):
    trainer.update(torch.randn(6, 3), torch.randn(6, 1))
"""
DRAWN = """
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
values = []
for step in range(12):
    values.append(net(torch.rand(4)))
    loss = (random.choice(values) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DRAWN_OFTEN = DRAWN.replace("(random.choice(values) - 1)", "torch.stack(random.choices(values, k=2))")
DETACHED = ("actor(latent)", "actor(latent.detach())")
RETAINED = ("out[0, index].backward()", "out[0, index].backward(retain_graph=True)")
CASES = {  # A program, and what of it is written otherwise where it is right.
    "world model": (WORLD, DETACHED),
    "advantage": (ADVANTAGE, ("log_probs * advantage)", "log_probs * advantage.detach())")),
    "normaliser": (NORMALISED, ("initial = losses", "initial = losses.detach()")),
    "normaliser of a sum": (NORMALISED_SUM, ("initial = losses", "initial = losses.detach()")),
    "relative loss": (RELATIVE, ("self.initial = losses", "self.initial = losses.detach()")),
    "old probabilities": (RATIO, ("old = log_probs", "old = log_probs.detach()")),
    "normaliser in a class": (NORMALISED_IN_A_CLASS, ("self.initial = losses", "self.initial = losses.detach()")),
    "computed once": (TRAINED_ONCE, ("head(encoded)", "head(encoder(inputs))")),
    "adversarial": (ADVERSARIAL, ("D(fake).mean() - D(torch", "D(fake.detach()).mean() - D(torch")),
    "two terms": (TWO_TERMS, ("one.backward()", "one.backward(retain_graph=True)")),
    "step in the loop": (STEP_IN_THE_LOOP, ("loss.backward()", "loss.backward()\n    memory = memory.detach()")),
    "step past a clear": (
        STEP_PAST_A_CLEAR,
        ("    g_loss = -judged.mean()", "    judged = D(fake)\n    g_loss = -judged.mean()"),
    ),
    "learnt start": (LEARNT_START, ("loss.backward()", "loss.backward()\n    state = state.detach()")),
    "rows": (ROWS, RETAINED),
    "products": (PRODUCTS, ("grad_outputs=vector)", "grad_outputs=vector, retain_graph=True)")),
}


def offered(text: str) -> list[Fix]:
    return [fix for each in mended(check(Document("train.py", text))).diagnostics for fix in each.fixes]


def numbers_of(text: str) -> tuple[bool, Numbers]:
    """Whether a program runs under PyTorch, and its gradients, steps and prints."""
    with watched() as numbers:
        outcome = outcome_of([Source("train.py", text, Path("train.py"), ())], (), None)
    numbers.gradients.clear()  # A sum of losses goes back once, and each step finds the same.
    return outcome.raised is None, numbers


def after(text: str, fix: Fix) -> str:
    return apply_edits(Document("train.py", text), sorted(fix.edits, key=lambda edit: edit.range.start))


@pytest.mark.parametrize("name", CASES)
def test_a_safe_fix_learns_what_the_right_program_learns(name: str) -> None:
    text, (wrong, right) = CASES[name]
    runs, wanted = numbers_of(text.replace(wrong, right, 1))
    assert runs
    assert not numbers_of(text)[0]
    for fix in offered(text):
        if fix.safety is Safety.SAFE or fix.preferred:
            ran, found = numbers_of(after(text, fix))
            assert (fix.title, ran, difference(wanted, found, whole=True)) == (fix.title, True, "")


@pytest.mark.parametrize("name", CASES)
def test_some_fix_learns_what_the_right_program_learns(name: str) -> None:
    text, (wrong, right) = CASES[name]
    wanted = numbers_of(text.replace(wrong, right, 1))[1]
    found = [numbers_of(after(text, fix)) for fix in offered(text)]
    assert any(ran and not difference(wanted, each, whole=True) for ran, each in found)


@pytest.mark.parametrize(
    "name",
    [
        "adversarial",
        "two terms",
        "step in the loop",
        "step past a clear",
        "learnt start",
        "rows",
        "products",
        "normaliser",
        "relative loss",
        "old probabilities",
    ],
)
def test_what_is_not_ambiguous_has_a_preferred_fix(name: str) -> None:
    assert [fix.preferred for fix in offered(CASES[name][0])].count(True) == 1


@pytest.mark.parametrize("name", ["normaliser", "normaliser of a sum", "relative loss", "old probabilities"])
def test_a_fix_after_which_the_loss_is_constant_is_not_offered(name: str) -> None:
    fixes = offered(CASES[name][0])
    assert fixes
    assert not any(fix.does(Transformation.FORGET) for fix in fixes)


@pytest.mark.parametrize("name", ["normaliser", "normaliser of a sum", "relative loss"])
def test_a_fix_that_gives_a_gradient_where_it_was_zero_before_is_not_safe(name: str) -> None:
    [best] = [fix for fix in offered(CASES[name][0]) if fix.preferred]
    assert best.safety is Safety.UNSAFE


@pytest.mark.parametrize("name", ["world model", "advantage"])
def test_a_loss_that_would_train_the_parameters_of_another_optimizer_is_told_as_the_cost(name: str) -> None:
    text, (wrong, right) = CASES[name]
    best, *others = offered(text)
    assert after(text, best) == text.replace(wrong, right, 1)
    assert others
    assert all(fix.costs == (Cost.MIXED,) for fix in others)


def test_what_a_step_finds_no_gradient_for_any_more_is_a_cost() -> None:
    weight = ("train.py", 3, 0)
    before = Taught((), frozenset({weight}), {}, {})
    after = Taught((), frozenset(), {0: frozenset({("train.py", 4, 0)})}, {})
    assert costs(Change(before, after, {3: 4}, "train.py")) == {Cost.UNTAUGHT}
    assert costs(Change(before, after, {}, "train.py")) == set()


def test_a_step_of_parameters_that_are_not_seen_makes_nothing_stale_that_has_no_gradient() -> None:
    assert not numbers_of(TEMPERATURE + CALLED)[0]
    [best] = [fix for fix in offered(TEMPERATURE) if fix.preferred]
    assert (best.safety, best.costs) == (Safety.SAFE, ())
    assert numbers_of(after(TEMPERATURE, best) + CALLED)[0]


REPLAYED = (ROOT / "tests/cases/corpus/replay_random_sample_live_faulty.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [DRAWN, DRAWN_OFTEN, REPLAYED], ids=["one", "several", "records"])
def test_what_is_drawn_of_a_memory_is_not_detached_where_nothing_is_left_to_learn_from(text: str) -> None:
    assert not numbers_of(text)[0]
    assert not [fix.title for fix in offered(text) if not numbers_of(after(text, fix))[0]]


def test_each_row_of_an_output_goes_back_through_a_graph_that_is_kept() -> None:
    [best] = [fix for fix in offered(ROWS) if fix.preferred]
    assert RETAINED[1] in after(ROWS, best)


@pytest.mark.parametrize("part", ["adversarial_domain_two_optimizers", "adversarial_autoencoder_reuse"])
def test_after_a_preferred_fix_those_learn_who_learn_in_the_right_program(part: str) -> None:
    [(_, faulty, right)] = programs(part)
    assert list(complaints(faulty, right)) == []


@pytest.mark.parametrize("part", ["apply_fn_freeze_bn_all", "ema_teacher_shares_parameters", "peft_all_frozen_typo"])
def test_which_layer_of_a_frozen_model_is_to_be_trained_is_for_a_person_to_say(part: str) -> None:
    [(_, faulty, _)] = programs(part)
    [text] = faulty.values()
    fixes = offered(text)
    assert fixes
    assert not any(fix.preferred or fix.safety is Safety.SAFE for fix in fixes)


def test_a_fix_that_would_thaw_all_that_is_frozen_is_not_offered() -> None:
    text = (ROOT / "tests/cases/corpus/named_parameters_freeze_substring_faulty.py").read_text(encoding="utf-8")
    [part] = offered(text)
    assert (part.preferred, part.safety) == (True, Safety.SAFE)
    assert "model.fc.requires_grad_()" in after(text, part)


def test_the_graph_of_gradients_that_a_function_reads_is_not_dropped() -> None:
    found = offered("""
def norm_step(model, x, y):
    loss = (model(x) - y).pow(2).mean()
    loss.backward(create_graph=True)
    norm = sum(p.grad.pow(2).sum() for p in model.parameters())
    norm.backward()
""")
    assert found
    assert all("Drop" not in fix.title for fix in found)
