"""Tensor code that leans on Python itself: itertools, getattr, properties, closures, comprehensions."""

from __future__ import annotations

from .tables import paragraphs

PYTHONIC = paragraphs(
    "pythonic",
    """
1| for {int:fresh=i}, {M:fresh=t} in enumerate([{M:raw}, {M:raw}], start=1):
    {block:2}

0.7| for {M:fresh=a}, {V:fresh=b} in zip({listM:var}, {listV:var}):
    {block:2}

0.7| {dictM:fresh=d} = {{name: {M:raw} for name in ("a", "b")}}
for name, {M:fresh=t} in {=d}.items():
    {block:2}

0.5| {listS:fresh=l} = [({M} * k).sum() for k in range({n})]
? sum({=l}).backward()

0.5| {listS:fresh=l} = [t.sum() for t in {listM:var} if t.requires_grad]
{=l}.append({S:raw})

0.5| {M:new} = [t for t in {listM:var}][-1]

0.5| for {M:fresh=t} in reversed({listM:var}):
    {block:2}

0.5| for {int:fresh=i} in range(len({listM:var=l})):
    {=l}[{=i}] = {=l}[{=i}]<< * {num}|.detach()|.clone()| + {M}|>>

0.5| for {M:fresh=a}, {M:fresh=b} in itertools.product([{M:raw}], [{M:raw}, {M:raw}]):
    {block:2}

0.5| for {M:fresh=t} in itertools.chain({listM:var}, [{M:raw}]):
    {block:2}

0.4| for {int:fresh=i} in itertools.count():
    if {=i} >= {n}:
        break
    {block:2}

0.4| {S:new} = sum(a * b for a, b in itertools.islice(zip({listS:var}, itertools.count(1)), 2))

0.5| {M:new} = getattr({M:var}, <<"exp"|"sin"|"clone"|"detach"|"relu"|"t"|"sigmoid">>)()

0.4| {M:new} = getattr(torch, <<"exp"|"sin"|"sqrt"|"relu"|"tanh">>)({M:raw})

0.4| {name:fresh=op} = <<torch.exp|torch.sin|F.relu|torch.Tensor.detach|torch.clone|F.softplus>>
{M:new} = {=op}({M:raw})
@call V {=op}({V:raw})

0.4| {name:fresh=op} = {M:var}.<<add_|mul_|add|mul>>
{=op}({num})

0.4| {name:fresh=ops} = [torch.exp, torch.sin, lambda t: t * 2]
for op in {=ops}:
    {M:own=h} = op({=h})

0.4| {name:fresh=ops} = {{"exp": torch.exp, "twice": lambda t: t + t}}
{V:new} = {=ops}[<<"exp"|"twice">>]({V:raw})

0.5| setattr({linear:var}, "cache", {M:raw})

0.3| {linear:var=m}.extra = {M:raw}
@name M {=m}.extra mid

0.4| {name:fresh=fs} = [lambda t, k=k: t * k for k in range(1, 3)]
{M:new} = {=fs}[0]({M:raw}) + {=fs}[1]({M:raw})

0.3| {name:fresh=fs} = [lambda t: t + k for k in range(3)]
{M:new} = {=fs}[0]({M:raw})

0.5| {S:fresh=a}, ({S:fresh=b}, {S:fresh=c}) = {S:raw}, ({S:raw}, {S:raw})

0.5| {S:own=a}, {S:own=b} = {=b}, {=a}

0.4| *{listV:fresh}, {V:fresh} = {V:raw}, {V:raw}, {V:raw}

0.4| {listM:fresh=l} = {listM:var}[:1] + [{M:raw}]

0.4| {listM:fresh=l} = {listM:var}[::-1]

0.4| {listM:fresh=l} = copy.copy({listM:var})
{=l}.append({M:raw})

0.3| {listM:fresh=l} = {listM:var}
{=l}.insert(0, {M:raw})

0.4| {listM:fresh=a}, {listM:fresh=b} = map(list, zip(*[({M:raw}, {M:raw}), ({M:raw}, {M:raw})]))

0.3| {name:fresh=q} = collections.deque([{M:raw}, {M:raw}], maxlen=2)
{=q}.append({M:raw})
{M:new} = {=q}<<[0]|[-1]|.popleft()>>

0.4| {name:fresh=d} = collections.defaultdict(list)
{=d}["loss"].append({S:raw})
{=d}["loss"].append({S:raw})
{S:new} = sum({=d}["loss"])

0.3| {M:new} = next(iter({listM:var}))

0.3| {name:fresh=it} = iter([{M:raw}, {M:raw}])
{M:new} = next({=it})
{M:new} = next({=it})

0.3| {M:new} = list(filter(lambda t: t is not None, [{M:raw}, None]))[0]

0.3| {M:new} = (None or {M:raw}) if {flag:raw} else {M:raw}

0.3| {name:fresh=o} = dict(retain_graph=<<True|False>>)
{S:graph}.backward(**{=o})

0.3| {name:fresh=args} = ({M:raw}, {M:raw})
{S:new} = F.mse_loss(*{=args})

0.3| {S:new} = eval("1.0") * {S}

0.3| print(f"loss {{{S:var}.item():.3f}}")

0.3| {number:fresh} = f"{{{S:var}:.2f}}"

0.4| {int:fresh=a} = 2
{=a} <<+= 1|-= 1|*= 2>>
if {=a} <<== 3|> 2|% 2>>:
    {block:2}

0.4| {int:fresh=a} = len({listM:var})
for {int:fresh} in range({=a}):
    {block:2}

0.3| {float:fresh=a}, {float:fresh=b} = 0.1, 0.2
{M:new} = {M} * {=a} + {M} * {=b}

0.3| try:
    {number:fresh} = int("x")
except ValueError:
    {block:2}

0.3| try:
    {block:2}
    raise KeyError("stop")
except (KeyError, RuntimeError):
    {block:1}

0.3| if isinstance({M:var}, torch.Tensor) and {flag:var}:
    {block:2}

0.3| if hasattr({net:var}, "weight"):
    {block:2}
else:
    {block:2}

0.3| while len({listS:var=l}) > 1:
    {=l}.pop()

0.3| {int:fresh=k} = 3
while {=k}:
    {=k} -= 1
    if {=k} == 1:
        continue
    {block:2}
else:
    {block:1}

0.3| {int:fresh=k} = {n}
while (rest := {=k}) > 0:
    {=k} -= 1
    {block:2}

0.3| {S:fresh=best} = None
for {S:fresh=t} in ({S:raw}, {S:raw}):
    {=best} = {=t} if {=best} is None else {=best} + {=t}
{=best}.backward()

0.3| {dictS:fresh=d} = {{}}
{=d}["a"] = {S:raw}
{=d}["b"] = {=d}.get("a", 0.0) * 2
{S:new} = {=d}["a"] + {=d}["b"]

0.3| {dictM:fresh=d} = {{**{dictM:var}, "b": {M:raw}}}

0.3| {dictS:fresh=d} = {{k: v<<.detach()| * 2||.clone()>> for k, v in {dictS:var}.items()}}

0.3| for {S:fresh=t} in list({dictS:var}.values())[:2]:
    {=t}.backward(<<|retain_graph=True>>)

0.3| del {listS:var}[0]
{listS:fresh} = [{S:raw}]

0.3| assert {S:var}.requires_grad in (True, False), "odd"

0.3| {M:new} = {M:raw} if {M:var} is {M:var} else {M:raw}
""",
)

OBJECTS = paragraphs(
    "object",
    """
1| class {cls:fresh=C}:
    def __init__(self, x):
        self._x = x

    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self._x = value<<|.detach()| * 2>>
{obj:fresh=o} = {=C}({M:raw})
@name M {=o}.x mid
{=o}.x = {M:raw}
@do {=o}.x = {M:raw}
@do {=o}.x += {M:raw}

0.7| class {cls:fresh=C}:
    def __init__(self, w):
        self.w = w

    @functools.cached_property
    def table(self):
        return self.w<<.exp()| * 2| + 1>>
{obj:fresh=o} = {=C}({M:raw})
@call M {=o}.table
@do {=o}.table.sum().backward()

0.7| class {cls:fresh=C}:
    def __init__(self):
        self.values = {{}}

    def __setitem__(self, key, value):
        self.values[key] = value

    def __getitem__(self, key):
        return self.values[key]

    def __contains__(self, key):
        return key in self.values

    def __iter__(self):
        return iter(self.values.values())
{obj:fresh=o} = {=C}()
{=o}["a"] = {M:raw}
@call M {=o}["a"]
@do {=o}["a"] = {M:raw}
@do for {M:fresh=t} in {=o}:\\n    {block:2}
@call M sum({=o})

0.5| class {cls:fresh=C}(typing.NamedTuple):
    out: torch.Tensor
    loss: torch.Tensor
{obj:fresh=o} = {=C}({M:raw}, {S:raw})
@name M {=o}.out const
@name S {=o}.loss const
@do {M:new}, {S:new} = {=o}
@do {=o} = {=o}._replace(loss={S:raw})

0.5| class {cls:fresh=C}:
    total = 0

    def __init__(self):
        self.steps = 0

    def step(self, {S:arg=l}):
        self.steps += 1
        {=C}.total = {=C}.total + {=l}<<||.detach()|.item()>>
        if self.steps % 2 == 0:
            {=C}.total.backward()
            {=C}.total = 0
{obj:fresh=o} = {=C}()
@do {=o}.step({S:raw})

0.5| class {cls:fresh=A}:
    def prepare(self, x):
        return x<< * 2|.detach()|.clone()>>

class {cls:fresh=B}({=A}):
    def prepare(self, x):
        return super().prepare(x)<< + 1|.exp()>>

    def loss(self, x):
        return self.prepare(x).sum()
{obj:fresh=o} = {=B}()
@call M {=o}.prepare({M:raw})
@call S {=o}.loss({M:raw})

0.4| class {cls:fresh=M}:
    scale = 3.0

    def scaled(self, x):
        return x * self.scale

class {cls:fresh=C}({=M}, nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.scaled(self.fc(x))
{net:fresh=m} = {=C}()
@name M {=m}.fc.weight param

0.4| class {cls:fresh=C}(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"
{name:fresh=p} = {=C}.<<TRAIN|EVAL>>
if {=p} is {=C}.TRAIN:
    {block:2}
else:
    {block:2}

0.4| class {cls:fresh=C}:
    def __init__(self, model):
        self.model = model
        self.hidden = None

    def __getattr__(self, name):
        return getattr(self.model, name)

    def run(self, x):
        self.hidden = self.model(x)
        return self.hidden
{obj:fresh=o} = {=C}({net:var})
@call M {=o}.run({M:raw})
@do {=o}.run({M:raw}).sum().backward()
@do {=o}.zero_grad()

0.4| class {cls:fresh=C}:
    def __init__(self, steps):
        self.steps = steps

    def __iter__(self):
        for i in range(self.steps):
            yield torch.rand(3, 3), i
{obj:fresh=o} = {=C}({n})
@do for {M:fresh=x}, {int:fresh=i} in {=o}:\\n    {block:3}

0.4| class {cls:fresh=C}:
    def __init__(self):
        self.index = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.index == 2:
            raise StopIteration
        self.index += 1
        return torch.rand(3, 3)
@do for {M:fresh=x} in {=C}():\\n    {block:3}

0.4| @dataclasses.dataclass
class {cls:fresh=C}:
    lr: float = 0.1
    losses: list = dataclasses.field(default_factory=list)

    def log(self, {S:arg=l}):
        self.losses.append({=l}<<||.detach()>>)
        return sum(self.losses)
{obj:fresh=o} = {=C}()
@call S {=o}.log({S:raw})
@do {=o}.log({S:raw}).backward()
@call M {M} * {=o}.lr

0.4| class {cls:fresh=C}(nn.Module):
    instances = []

    def __init__(self, size=3, **kwargs):
        super().__init__()
        self.fc = nn.Linear(size, size, **kwargs)
        {=C}.instances.append(self)

    def forward(self, x, *rest, scale=1.0):
        out = self.fc(x)
        for r in rest:
            out = out + r
        return out * scale
{net:fresh=m} = {=C}(bias=<<True|False>>)
@call M {=m}({M:raw}, {M:raw})
@call M {=m}({M:raw}, scale={num})
@name M {=m}.fc.weight param
""",
)
