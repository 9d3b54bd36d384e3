"""The compound statements: modes, branches, loops, handlers, and containers with what is done to them."""

from __future__ import annotations

from oracle.tables import paragraphs

MODES = paragraphs(
    "mode",
    """
3| +with torch.no_grad():
    {block}

0.6| +with torch.enable_grad():
    {block}

0.5| +with torch.set_grad_enabled({flag:raw}):
    {block}

0.3| +with torch.set_grad_enabled(<<True|False>>):
    {block:2}

1| +with torch.inference_mode():
    {block:2}

0.2| +with torch.inference_mode(False):
    {block:1}

0.3| +with torch.no_grad(), torch.enable_grad():
    {block:1}

0.3| +with torch.no_grad():
    {block:1}
    +with torch.enable_grad():
        {block:2}

0.2| torch.set_grad_enabled(False)
{block:2}
torch.set_grad_enabled(True)

0.3| was_enabled = torch.is_grad_enabled()
torch.set_grad_enabled(False)
{T:new} = {T:op}
torch.set_grad_enabled(was_enabled)

0.2| +with torch.autocast("cpu", dtype=torch.bfloat16):
    {S:new} = {S:op}

0.2| +with torch.autograd.graph.save_on_cpu():
    {T:new} = {T:op}

0.2| +with contextlib.nullcontext():
    {block:2}

0.3| {name:fresh=guard} = torch.no_grad() if {cond:raw} else torch.enable_grad()
+with {=guard}:
    {block:2}
""",
)

BRANCHES = paragraphs(
    "branch",
    """
4| if {cond:raw}:
    {block}

3| if {cond:raw}:
    {block}
else:
    {block}

0.7| if {cond:raw}:
    {block:2}
elif {cond:raw}:
    {block:2}
else:
    {block:1}

1| if {cond:raw}:
    {T:own=a} = {T:op}
else:
    {=a} = {T:op}

0.7| if {flag:var=c}:
    {block:1}
{block:2}
if {=c}:
    {block:1}

0.5| if {flag:var=c}:
    {block:1}
{block:1}
if not {=c}:
    {block:1}

0.3| match {mode:var}:
    case "train":
        {block:2}
    case _:
        {block:1}

0.5| {T:fresh=a} = None
if {cond:raw}:
    {=a} = {T:op}
if {=a} is not None:
    @name T {=a} mid
    {block:2}

0.4| {T:fresh=a} = {T:raw} if {flag:raw} else None
if {=a} is None:
    {=a} = {T:op}

0.3| {flag:fresh=done} = False
if not {=done}:
    {block:2}
    {=done} = True
if not {=done}:
    {block:2}
""",
)

LOOPS = paragraphs(
    "loop",
    """
5| +for {int:fresh=i} in range({n}):
    {block}

2| +for {int:fresh} in range({n}):
    {block:4}

1| +for _ in range({n}):
    {block}

1| {int:fresh=k} = 0
+while {=k} < {n}:
    {=k} += 1
    {block}

0.4| {int:fresh=k} = 0
while True:
    {=k} += 1
    {block:2}
    if {=k} >= {n}:
        break

0.8| for {int:fresh}, {M:fresh=t} in enumerate([{M:raw}, {M:raw}]):
    {block}

0.6| for {M:fresh}, {M:fresh} in zip([{M:raw}, {M:raw}], [{M:raw}, {M:raw}]):
    {block}

0.6| for {V:fresh} in {M:var}:
    {block:2}

0.5| for {V:fresh} in {M}.unbind(<<0|1>>):
    {block:2}

0.4| for {V:fresh} in [{V:raw}, {V:raw}]:
    {block:2}

0.5| for {float:fresh} in (0.1, 0.5):
    {block:2}

0.5| for {int:fresh=i} in range({n}):
    {block:2}
    if {=i} == {int:raw}:
        <<break|continue>>
    {block:1}

0.4| for {int:fresh=i} in range({n}):
    {block:1}
    if {cond:raw}:
        break
else:
    {block:1}

0.5| for {int:fresh=i} in range({n}):
    if {=i} % 2 == <<0|1>>:
        {block:2}
    else:
        {block:2}

0.4| for {int:fresh=i} in range({n}):
    if {=i} > 0:
        {block:2}
    {block:2}

0.4| for {int:fresh=i} in range({n}):
    for {int:fresh=j} in range(2):
        {block:2}
    {block:1}

0.3| for {int:fresh=i} in range(3, 0, -1):
    {block:2}

0.2| for {int:fresh=i} in range(0):
    {block:2}

0.3| {float:fresh=a} = 1.0
while {=a} > 0.2:
    {=a} = {=a} / 2
    {block:2}

0.4| for {listM:fresh=batch} in ([{M:raw}], [{M:raw}]):
    {M:fresh=t} = {=batch}[0]
    {block:2}

0.5| {S:fresh=a} = 0.0
+for {int:fresh} in range({n}):
    {=a} += {S:op}
    ? {=a}.backward(<<|retain_graph=True>>)

0.5| {S:fresh=a} = torch.zeros(())
+for {int:fresh} in range({n}):
    {=a} <<+= |= {=a} + >>{S:op}
    {block:1}
""",
)

FLOW = paragraphs(
    "flow",
    """
0.8| if {cond:raw}:
    break

0.8| if {cond:raw}:
    continue

0.3| if {cond:raw}:
    {block:1}
    <<break|continue>>
""",
)

HANDLERS = paragraphs(
    "handler",
    """
2| try:
    {S:graph}.backward(<<|retain_graph=True>>)
except RuntimeError:
    <<pass|{block:1}>>

1| try:
    {block}
except RuntimeError as error:
    <<print(error)|pass>>

0.5| try:
    {block:2}
except (RuntimeError, ValueError):
    pass
else:
    {block:1}

0.5| +try:
    {block:2}
finally:
    {block:1}

0.3| with contextlib.suppress(RuntimeError):
    {block:2}

0.3| try:
    {S:graph}.backward()
except RuntimeError:
    {S:new} = {S:op}
    {block:1}

0.2| try:
    {block:1}
    raise ValueError("stop")
except ValueError:
    {block:1}

0.2| try:
    {T:mid}.add_({num})
except RuntimeError:
    {block:1}
finally:
    pass
""",
)

CONTAINERS = paragraphs(
    "container",
    """
1| {listS:fresh=l} = [{S:raw}, {S:raw}]

0.7| {listM:fresh=l} = [{M:raw}, {M:raw}]

0.5| {listV:fresh} = [{V:raw}, {V:raw}, {V:raw}]

0.4| {listM:fresh} = list(({M:raw}, {M:raw}))

0.4| {listV:fresh} = list({M}.unbind(0))

0.3| {listV:fresh} = [r for r in {M:raw}]

0.7| {dictS:fresh=d} = {{"a": {S:raw}, "b": {S:raw}}}

0.3| {dictS:fresh=d} = dict(a={S:raw}, b={S:raw})

0.4| {dictM:fresh} = {{"a": {M:raw}}}

0.7| {listS:var}.append({S:raw})

0.4| {listM:var}.append({M:raw})

0.3| {listV:var}.append({V:raw})

0.3| {listS:var}.extend([{S:raw}, {S:raw}])

0.2| {listM:var}[0] = {M:raw}

0.3| {listM:var}[0] += {M:raw}

0.3| {listV:var}[-1].add_({num})

0.4| {dictS:var}["a"] = {S:raw}

0.4| {dictS:var}["b"] += {S:raw}

0.2| {dictS:var}.update(a={S:raw})

0.2| {listS:ownmid} += [{S:raw}]

0.2| {listS:own=l} = [t.detach() for t in {=l}]

0.2| {listM:own=l} = [t * {num} for t in {=l}]

0.4| {listM:fresh} = [{M:raw} for _ in range({n})]

0.4| {listS:fresh} = [t.sum() for t in {listM:var}]

0.3| {listM:fresh} = [{net:var}(t) for t in ({M:raw}, {M:raw})]

0.6| {listS:fresh=l} = []
+for {int:fresh} in range({n}):
    {block:1}
    {=l}.append({S:op}<<||.detach()>>)
? sum({=l}).backward(<<|retain_graph=True>>)
? {S:new} = torch.stack({=l}).sum()

0.5| {listM:fresh=l} = []
+for {int:fresh} in range(3):
    {M:own=h} = {M:op}
    {=l}.append({=h})

0.5| for {S:fresh=t} in {listS:var}:
    {=t}.backward(<<|retain_graph=True>>)

0.3| for {S:fresh=t} in {dictS:var}.values():
    {block:1}
    {=t}.backward(<<|retain_graph=True>>)

0.3| for key, {S:fresh=t} in {dictS:var}.items():
    {block:2}

0.3| for {M:fresh=t} in {listM:var}:
    {=t} += {M:raw}

0.3| for {V:fresh=t} in {listV:var}:
    {=t}.mul_({num})

0.4| {pair:fresh=p} = ({M:raw}, {V:raw})
{M:new}, {V:new} = {=p}

0.3| {pair:fresh=p} = ({S:raw}, {S:raw})
@name S {=p}[0] mid
@name S {=p}[1] mid

0.2| first, *rest = {listM:var}
@name M first mid

0.3| {listS:var}.clear()
{listS:fresh} = [{S:raw}]

0.2| {M:new} = {dictM:var}.get("a")

0.2| {S:fresh} = {dictS:var}.pop("a")

0.3| {M:new} = {dictM:var}.setdefault("a", {M:raw})

0.3| {M:new} = functools.reduce(lambda a, b: a + b, {listM:var})

0.2| {S:new} = sum(map(torch.sum, {listM:var}))

0.2| {S:new} = sum(a.sum() * b for a, b in zip({listM:var}, ({num}, {num})))

0.2| {listV:fresh} = sorted([{V:raw}, {V:raw}], key=lambda t: 0)

0.2| {S:new} = max([{S:raw}], key=lambda t: 0)

0.2| {listM:fresh=l} = [None] * 2
{=l}[0] = {M:raw}
{=l}[1] = {M:raw}

0.2| {dictM:fresh=d} = {{}}
+for {int:fresh=i} in range({n}):
    {=d}[{=i}] = {M:op}
@name M {=d}[0] mid
{=d}["a"] = {M:raw}

0.3| Pair = collections.namedtuple("Pair", ["left", "right"])
{pair:fresh=p} = Pair({M:raw}, {S:raw})
@name M {=p}.left mid
@name S {=p}.right mid

0.3| {obj:fresh=o} = types.SimpleNamespace(state={M:raw}, loss={S:raw})
@name M {=o}.state mid
@name S {=o}.loss mid
""",
)

SLIPS = paragraphs(
    "slip",
    """
0.3| {opt:fresh} = torch.optim.SGD([{T:mid}], lr={lr})

0.2| {opt:fresh} = torch.optim.Adam([{T:param}, {T:mid}])

0.1| {opt:fresh} = torch.optim.SGD([], lr={lr})

0.2| {linear:var}.weight = {M:raw}

0.2| {net:var}.weight = nn.Parameter({M:raw})

0.2| {T:mid}.requires_grad = <<True|False>>

0.2| {T:mid}.retain_grad()

0.2| {T:fresh=y} = {T:mid}.detach()
{=y}.register_hook(print)

0.2| {T:fresh} = copy.deepcopy({T:var})

0.2| np.asarray({T:var})

0.1| np.mean([{S:var}.detach(), {S:var}.detach()])

0.2| {S:fresh=s} = ({T} // 1).sum()
{=s}.backward()

0.2| {idx:fresh=t} = torch.tensor([0, 1, 2])
{=t}.requires_grad_()

0.2| +with torch.inference_mode():
    {T:fresh=t} = torch.rand({size})
<<{=t}.add_({num})|{=t}.requires_grad_()|{T:fresh} = {=t} * {T:param}|{T:new} = {=t}.clone()|{T:new} = {=t} + {T:raw}>>

0.3| +with torch.no_grad():
    {V:fresh=t} = {M:var}<<[0]|[:, 1]|.diagonal()|[-1]>>
<<{=t}.add_({num})|{=t}.mul_({V:raw})|{=t}[0] = {num}|{=t}.sum().backward()|{V:new} = {=t} * {num}>>

0.3| {V:fresh=a}, {V:fresh=b}, {V:fresh} = {M:var}.unbind(<<0|1>>)
<<{=a}.add_({num})|{=b}[0] = {num}|{=a} += {=b}|{V:new} = {=a} * {=b}>>

0.3| {V:fresh=a} = {M}<<[0]|[:, 0]|.view(9)[:3]|.t()[0]>>
<<{=a}.detach_()|{=a}.add_({num})|{=a}[1] = {num}|{=a}.requires_grad_()|{=a}.retain_grad()>>

0.2| {M:fresh=e} = {V}.expand(3, 3)
<<{=e}.add_({num})|{=e}[0] = {num}|{M:new} = {=e} + {num}|{M:new} = {=e}.clone().add_({num})>>

0.2| {S:fresh=l} = {T:op}.detach()<<.sum()|.mean()>>
<<{=l}.backward()|{=l}.requires_grad_().backward()|{=l}.requires_grad = True>>

0.2| {S:fresh=l} = (({M} > {num}).float() - {M:const}).pow(2).mean()
{=l}.backward()

0.2| {S:fresh=l} = torch.tensor({S:raw}.item(), requires_grad=<<True|False>>)
{=l}.backward()

0.2| {S:fresh=l} = ({M}.argmax(dim=1) == {idx:raw}).float().mean()
? {=l}.backward()

0.2| {V:fresh=g}, = torch.autograd.grad({S:raw}, {V:param}, create_graph=True)
{=g}.sum().backward()

0.2| {V:fresh=y} = {V:op}
{V:fresh=z} = {=y} ** 2
{=y}.detach_()
{=z}.sum().backward()

0.3| {M:fresh=y} = {M:op}
{M:fresh=z} = {=y}<<.exp()|.sigmoid()|.tanh()|.relu()| ** 2|.sin()| * {M:param}|.softmax(1)| * 2|.clamp(min=0)>>
<<{=z}|{=y}|{=z}[0]|{=y}.view(-1)|{=y}.detach()|{=z}.data>><<.add_({num})|.mul_({num})|.zero_()>>
{=z}.sum().backward()
""",
)

COMPOUND = (*MODES, *BRANCHES, *LOOPS, *FLOW, *HANDLERS, *CONTAINERS, *SLIPS)
