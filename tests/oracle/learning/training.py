"""The loops of training programs: clear, compute, go back, step, in an order that is mostly right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..draft import Frame
from .pen import Pen

Losses = list[str]


def train(pen: Pen, state: dict[str, str]) -> None:
    """A loop; `state` says what it carries."""
    count = pen.random.choice((2, 3, 3, 4))
    form = pen.random.choice(("range",) * 15 + ("batches", "batches", "while", "loader"))
    match form:
        case "loader":
            size = f"torch.randn({count * 4}, 3)"
            pen.emit(f"data = torch.utils.data.TensorDataset({size}, {size})")
            pen.emit("for step, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_size=4)):")
        case "batches":
            pen.emit(f"batches = [(torch.randn(4, 3), torch.randn(4, 3)) for _ in range({count})]")
            pen.emit("for step, (x, y) in enumerate(batches):")
        case "while":
            pen.emit("step = 0")
            pen.emit(f"while step < {count}:")
        case _:
            pen.emit(f"for step in range({count}):")
    pen.draft.depth += 1
    if form in ("range", "while"):
        pen.emit("x = torch.randn(4, 3)")
        pen.emit("y = torch.randn(4, 3)")
    pen.emit("labels = torch.randint(0, 3, (4,))")
    pen.draft.bind("x", "H", "const")
    if pen.chance(0.03) and form == "range":
        pen.emit(f"if step == {pen.random.choice((0, 1))}:")
        pen.emit(f"    {pen.random.choice(('continue', 'break', 'pass'))}")
    losses = pen.random.choice(_SCHEMES)(pen)
    _tail(pen, state, losses)
    if form == "while":
        pen.emit("step += 1")
    pen.draft.depth -= 1


def _features(pen: Pen, most: int = 4) -> None:
    for _ in range(pen.random.choice((0, 1, 1, 2))):
        pen.say("{H:new} = {net:var}({H:raw})")
    for _ in range(pen.random.randint(1, most)):
        pen.draft.statement()


def _loss(pen: Pen) -> str | None:
    return pen.bound_by("{S:fresh} = {S:op}")


def _some_losses(pen: Pen) -> Losses:
    _features(pen)
    return [loss for _ in range(pen.random.choice((1, 1, 2, 2, 3))) if (loss := _loss(pen))]


def _one_loss(pen: Pen) -> Losses:
    _features(pen, 3)
    loss = _loss(pen)
    return [loss] if loss else []


def _zero(pen: Pen, opts: Sequence[str]) -> None:
    for opt in opts:
        match pen.random.choice(("plain",) * 6 + ("zeros", "none", "net", "hand", "missing")):
            case "plain":
                pen.emit(f"{opt}.zero_grad()")
            case "zeros":
                pen.emit(f"{opt}.zero_grad(set_to_none=False)")
            case "none":
                pen.emit(f"{opt}.zero_grad(set_to_none=True)")
            case "net":
                pen.say("{net:var}.zero_grad()")
            case "hand":
                pen.say("for p in {net:var}.parameters():\n    p.grad = None")
            case _:
                pass


def _backward(pen: Pen, loss: str, retain: bool = False) -> None:
    forms = ("{}.backward()",) * 16 + ("({} * 0.5).backward()", "torch.autograd.backward({})")
    forms += ("{}.backward(retain_graph=True)", "{}.backward(gradient=torch.tensor(0.5))", "inputs")
    form = "{}.backward(retain_graph=True)" if retain else pen.random.choice(forms)
    if form == "inputs":
        pen.say(f"{loss}.backward(inputs=list({{net:var}}.parameters()))")
    else:
        pen.emit(form.format(loss))


def _steps(pen: Pen, opts: Sequence[str]) -> None:
    if pen.chance(0.08):
        pen.say("torch.nn.utils.clip_grad_<<norm|value>>_({net:var}.parameters(), 1.0)")
    for opt in opts:
        if pen.chance(0.03):
            continue
        if pen.chance(0.06):
            pen.emit("if (step + 1) % 2 == 0:")
            pen.emit(f"    {opt}.step()")
            pen.emit(f"    {opt}.zero_grad()")
        else:
            pen.emit(f"{opt}.step()")


def _around(
    pen: Pen, opts: Sequence[str], losses: Callable[[Pen], Losses], backward: Callable[[Losses], None]
) -> Losses:
    """Clear, compute, go back and step, in an order that is mostly right."""
    order = pen.random.choice(("first", "first", "first", "before", "before", "after", "missing", "between"))
    if order == "first":
        _zero(pen, opts)
    found = losses(pen)
    if order == "before":
        _zero(pen, opts)
    if found:
        backward(found)
    if order == "between" and pen.chance(0.5):
        _zero(pen, opts)
    _steps(pen, opts)
    if order == "after":
        _zero(pen, opts)
    return found


def _joint(pen: Pen) -> Losses:
    """One backward for the sum of all losses."""

    def backward(losses: Losses) -> None:
        if len(losses) == 1:
            _backward(pen, losses[0])
        elif pen.chance(0.2):
            pen.emit(f"torch.autograd.backward([{', '.join(losses)}])")
        else:
            weights = ("", "", "0.5 * ", "0.1 * ", "0 * ")
            terms = [pen.random.choice(weights if index else weights[:-1]) + loss for index, loss in enumerate(losses)]
            whole = pen.draft.fresh("whole")
            pen.emit(f"{whole} = {' + '.join(terms)}")
            _backward(pen, whole)

    return _around(pen, pen.opts, _some_losses, backward)


def _each(pen: Pen) -> Losses:
    """A backward for each loss."""

    def backward(losses: Losses) -> None:
        for loss in losses[:-1]:
            _backward(pen, loss, retain=True)
        _backward(pen, losses[-1])

    return _around(pen, pen.opts, _some_losses, backward)


def _turns(pen: Pen) -> Losses:
    """The optimizers take turns, as those of a GAN; what is not trained may be frozen for the time."""
    found: Losses = []
    for opt in pen.opts:
        net = pen.net() if pen.chance(0.25) else None
        if net is not None:
            pen.emit(f"freeze({net})")
        found += _around(pen, [opt], _one_loss, lambda losses: _backward(pen, losses[-1]))
        if net is not None and pen.chance(0.9):
            pen.emit(f"freeze({net}, on=False)")
    return found


def _taken(pen: Pen) -> Losses:
    """Gradients by `autograd.grad`, and what is done with them."""

    def backward(losses: Losses) -> None:
        loss = losses[-1]
        net = pen.net()
        taken = f"grads = torch.autograd.grad({loss}, list({net}.parameters()), allow_unused=True"
        match pen.random.choice(("assigned", "moved", "penalty", "inner", "by hand")):
            case "assigned":
                pen.emit(f"{taken})")
                pen.emit(f"for p, g in zip({net}.parameters(), grads):")
                pen.emit("    p.grad = g")
            case "moved":
                pen.emit(f"{taken})")
                pen.emit("with torch.no_grad():")
                pen.emit(f"    for p, g in zip({net}.parameters(), grads):")
                pen.emit("        if g is not None:")
                pen.emit("            p -= 0.1 * g")
            case "penalty":
                pen.emit("point = torch.randn(4, 3, requires_grad=True)")
                pen.emit(f"score = {net}(point).tanh().sum()")
                pen.emit("(slope,) = torch.autograd.grad(score, point, create_graph=True)")
                _backward(pen, f"({loss} + slope.pow(2).mean())")
            case "by hand":
                _backward(pen, loss)
                moves = ("p -= 0.1 * p.grad", "p.sub_(0.1 * p.grad)", "p.data.add_(p.grad, alpha=-0.1)")
                pen.emit("with torch.no_grad():")
                pen.emit(f"    for p in {net}.parameters():")
                pen.emit("        if p.grad is not None:")
                pen.emit(f"            {pen.random.choice(moves)}")
                pen.emit(
                    f"            {pen.random.choice(('p.grad = None', 'p.grad.zero_()', 'p.grad *= 0.5', 'pass'))}"
                )
            case _:
                pen.emit(f"{taken}, create_graph=True)")
                pen.emit(f"fast = {loss} + sum(g.pow(2).sum() for g in grads if g is not None)")
                _backward(pen, "fast")

    return _around(pen, pen.opts, _some_losses, backward)


def _halves(pen: Pen) -> Losses:
    """A graph that is gone back through in two parts."""

    def backward(losses: Losses) -> None:
        feature = pen.draft.pick("H", "graph")
        cut, upper = pen.draft.fresh("cut"), pen.draft.fresh("upper")
        pen.emit(f"{cut} = {feature}.detach().requires_grad_()")
        pen.emit(f"{upper} = {pen.net()}({cut}).pow(2).mean()")
        pen.emit(f"{upper}.backward()")
        match pen.random.choice(("grad", "grad", "taken", "forgotten")):
            case "grad":
                pen.emit(f"{feature}.backward({cut}.grad)")
            case "taken":
                pen.emit(f"torch.autograd.backward({feature}, grad_tensors={cut}.grad)")
            case _:
                _backward(pen, losses[-1])

    return _around(pen, pen.opts, _some_losses, backward)


def _scaled(pen: Pen) -> Losses:
    """Scaled losses, with a scaler that does nothing on this machine."""
    pen.emit('scaler = torch.amp.GradScaler("cpu", enabled=False)')
    losses = _one_loss(pen)
    _zero(pen, pen.opts)
    for loss in losses:
        pen.emit(f"scaler.scale({loss}).backward()")
    for opt in pen.opts:
        if pen.chance(0.3):
            pen.emit(f"scaler.unscale_({opt})")
        pen.emit(f"scaler.step({opt})")
    pen.emit("scaler.update()")
    return losses


def _listed(pen: Pen) -> Losses:
    """Optimizers and losses in containers."""
    opts, found = pen.draft.fresh("opts"), pen.draft.fresh("found")
    keyed = pen.chance(0.4)
    names = ", ".join(f'"{opt}": {opt}' if keyed else opt for opt in pen.opts)
    pen.emit(f"{opts} = {{{names}}}.values()" if keyed else f"{opts} = [{names}]")
    pen.emit(f"for each in {opts}:")
    pen.emit("    each.zero_grad()")
    losses = _some_losses(pen)
    if pen.chance(0.5):
        pen.emit(f"{found} = []")
        for loss in losses:
            changed = pen.random.choice(("", "", " * 0.5", ".detach()" if len(losses) > 1 else ""))
            pen.emit(f"{found}.append({loss}{changed})")
    else:
        pen.emit(f"{found} = {{}}")
        for index, loss in enumerate(losses):
            pen.emit(f'{found}["loss{index}"] = {loss}')
        pen.emit(f"{found} = list({found}.values())")
    if losses:
        pen.emit(pen.random.choice((f"sum({found}).backward()", f"torch.stack({found}).sum().backward()")))
    pen.emit(f"for each in {opts}:")
    pen.emit("    each.step()")
    return losses


def _updates(pen: Pen) -> Losses:
    """A helper that clears, goes back and steps."""
    losses: Losses = []
    for opt in pen.opts:
        if pen.chance(0.3):
            pen.emit(f"learn({pen.net()}, {opt}, x, y)")
            continue
        losses += _one_loss(pen)
        if losses:
            pen.emit(f"update({opt}, {losses[-1]})")
    return losses


def _summed(pen: Pen) -> Losses:
    """A loss that an inner loop sums up, or that is gone back from in each round of it."""
    whole = pen.draft.fresh("whole")
    _zero(pen, pen.opts)
    pen.emit(f"{whole} = 0")
    pen.emit("for _ in range(2):")
    pen.draft.depth += 1
    outer = pen.draft.state.frames
    losses = _one_loss(pen)
    inside = pen.chance(0.3)
    for loss in losses:
        pen.emit(f"({loss} / 2).backward()" if inside else f"{whole} = {whole} + {loss}")
    if not losses:
        pen.emit("pass")
    pen.draft.state = replace(pen.draft.state, frames=outer)
    pen.draft.depth -= 1
    if not inside and losses:
        pen.emit(f"{whole}.backward()")
    _steps(pen, pen.opts)
    return []


def _attacked(pen: Pen) -> Losses:
    """An input that is moved along its gradient before the loss is computed with it."""
    pen.emit("moved = x.clone().requires_grad_()")
    pen.emit(f"F.mse_loss({pen.net()}(moved), y).backward()")
    pen.emit("x = (x + 0.1 * moved.grad.sign()).detach()")
    return _joint(pen)


def _closure(pen: Pen) -> Losses:
    """A step that calls for its own loss."""
    if not pen.opts:
        return []
    opt = pen.random.choice(pen.opts)
    draft = pen.draft
    outer = draft.state.frames
    pen.emit("def closure():")
    draft.depth += 1
    draft.state = replace(draft.state, frames=(*outer, Frame()))
    _zero(pen, [opt])
    _features(pen, 2)
    loss = _loss(pen)
    if loss:
        _backward(pen, loss)
    pen.emit(f"return {loss or 'None'}")
    draft.state = replace(draft.state, frames=outer)
    draft.depth -= 1
    pen.emit(f"{opt}.step(closure)")
    return []


_SCHEMES: tuple[Callable[[Pen], Losses], ...] = (
    *(_joint, _joint, _joint, _joint, _each, _turns, _turns, _turns),
    *(_taken, _closure, _halves, _scaled, _listed, _updates, _summed, _attacked),
)


def _tail(pen: Pen, state: dict[str, str], losses: Losses) -> None:
    """What comes after the step."""
    if losses and "total" in state:
        pen.emit(f"total += {losses[-1]}{pen.random.choice(('.item()', '.detach()', '.item()'))}")
    if losses and "history" in state:
        pen.emit(f"history.append({losses[-1]}.item())")
    if "state" in state:
        pen.say("state = {H}.detach()")
    if "memory" in state:
        pen.say("memory.append({H}.detach())")
    if "target" in state:
        _follow(pen, state["target"], state["source"])
    if pen.chance(0.1):
        pen.say("if step == <<0|1>>:\n    {net:var}.requires_grad_(<<True|True|False>>)")
    if pen.chance(0.02):
        pen.say("if step == 0:\n    {part:var} = nn.Linear(3, 3)")
    if pen.opts and pen.chance(0.02):
        opt = pen.random.choice(pen.opts)
        pen.say(f'if step == 0:\n    {opt}.add_param_group({{{{"params": {{plist:raw}}}}}})')
    if pen.chance(0.05):
        pen.emit(f"evaluate({pen.net()}, x)")
    if pen.chance(0.03):
        pen.say("{net:var}.load_state_dict(copy.deepcopy({net:var}.state_dict()))")
    if any(line.strip().startswith("scheduler =") for line in pen.draft.state.lines):
        pen.emit("scheduler.step()")


def _follow(pen: Pen, target: str, source: str) -> None:
    """A target network follows its source."""
    match pen.random.choice(("loop", "loop", "loaded", "called")):
        case "loop":
            moves = ("a.mul_(0.9).add_(b, alpha=0.1)", "a.lerp_(b, 0.1)", "a.copy_(b)")
            pen.emit("with torch.no_grad():")
            pen.emit(f"    for a, b in zip({target}.parameters(), {source}.parameters()):")
            pen.emit(f"        {pen.random.choice(moves)}")
        case "loaded":
            pen.emit(f"{target}.load_state_dict({source}.state_dict())")
        case _:
            pen.emit(f"follow({target}, {source})")
