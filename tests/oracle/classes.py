"""Classes that hold tensors, and modules of every common shape."""

from __future__ import annotations

from .tables import paragraphs

PLAIN = paragraphs(
    "class",
    """
2| class {cls:fresh=C}:
    def __init__(self, w):
        self.w = w
        self.state = <<torch.zeros(3, 3)|torch.rand(3, 3)>>
        self.total = <<0.0|torch.zeros(())>>

    def update(self, {M:arg}):
        @name M self.w param
        @name M self.state mid
        {block:2}
        self.state = {M:op}
        return self.state

    def add(self, {S:arg=l}):
        @name S self.total mid
        self.total <<+= |= self.total + >>{=l}<<||.detach()>>
        return self.total
{obj:fresh=o} = {=C}({M:raw})
@name M {=o}.w param
@name M {=o}.state mid
@call M {=o}.update({M:raw})
@do {=o}.update({M:raw})
@call S {=o}.add({S:raw})
@do {=o}.add({S:raw}).backward()

1| class {cls:fresh=C}:
    scale = 2.0

    def __init__(self):
        self.history = []

    def record(self, {S:arg=l}):
        self.history.append({=l}<<||.detach()>>)
        return self

    @property
    def mean(self):
        return torch.stack(self.history).mean()

    def __len__(self):
        return len(self.history)

    def reset(self):
        self.history <<= []|.clear()>>
{obj:fresh=o} = {=C}()
{=o}.record({S:raw})
@do {=o}.record({S:raw})
@call S {=o}.mean
@do {=o}.mean.backward()
@do if len({=o}) > 2:\\n    {=o}.mean.backward()\\n    {=o}.history = [torch.zeros(())]
@call S {=o}.record({S:raw}).mean

0.7| class {cls:fresh=C}:
    def __init__(self, x):
        self.x = x
        self._cached = None

    @property
    def cached(self):
        if self._cached is None:
            self._cached = <<self.x.exp()|self.x * 2|self.x + 1>>
        return self._cached

    def invalidate(self):
        self._cached = None
{obj:fresh=o} = {=C}({M:raw})
@call M {=o}.cached
@call S {=o}.cached.sum()
@do {=o}.invalidate()
@do {=o}.cached.sum().backward()

0.6| @dataclasses.dataclass
class {cls:fresh=C}:
    weight: torch.Tensor
    loss: torch.Tensor
    steps: int = 0
{obj:fresh=o} = {=C}({M:raw}, {S:raw})
@name M {=o}.weight mid
@name S {=o}.loss mid
@do {=o}.steps += 1
@do {=o}.loss.backward()
@do {=o} = {=C}({=o}.weight, {S:raw}, {=o}.steps)

0.5| class {cls:fresh=C}:
    def __init__(self, size):
        self.items = [torch.rand(3, 3) for _ in range(size)]

    def __getitem__(self, index):
        return self.items[index], torch.rand(3, 3)

    def __len__(self):
        return len(self.items)
{obj:fresh=o} = {=C}({n})
@do for {int:fresh=i} in range(len({=o})):\\n    {M:fresh}, {M:fresh} = {=o}[{=i}]\\n    {block:2}
@call M {=o}[0][0]

0.4| class {cls:fresh=C}:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return {=C}(self.value + other.value)

    def __mul__(self, k):
        return {=C}(self.value * k)

    def __call__(self, {M:arg=a}):
        @name M self.value mid
        {block:1}
        return {=a} * self.value
{obj:fresh=o} = {=C}({M:raw})
@name M {=o}.value mid
@call M {=o}({M:raw})
@call M ({=o} + {=C}({M:raw})).value
@do {=o} = {=o} * {num}

0.4| class {cls:fresh=C}:
    def __enter__(self):
        self.previous = torch.is_grad_enabled()
        torch.set_grad_enabled(<<False|True>>)
        return self

    def __exit__(self, *error):
        torch.set_grad_enabled(self.previous)
        return False
@do with {=C}():\\n    {block:2}
@do with {=C}() as guard:\\n    {T:new} = {T:op}

0.5| class {cls:fresh=C}:
    count = 0
    shared = None

    @classmethod
    def make(cls, x):
        cls.count += 1
        cls.shared = x
        return cls()

    @staticmethod
    def double(x):
        return x * 2
{obj:fresh=o} = {=C}.make({M:raw})
@name M {=C}.shared mid
@call M {=C}.double({M:raw})
@call M {=o}.shared
@do {=C}.make({M:raw})
""",
)

MODULES = paragraphs(
    "netclass",
    """
3| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 3)
        self.fc2 = {layer}

    def forward(self, {M:arg=x}):
        h = <<torch.relu(self.fc1({=x}))|self.fc1({=x})|F.relu(self.fc1({=x}), inplace=True)|self.fc1({=x}).sigmoid()>>
        @name M h mid
        {block:1}
        <<h += {=x}|h = h + {=x}|h *= 2|pass>>
        return self.fc2(h)
{net:fresh=m} = {=C}()
@name M {=m}.fc1.weight param
@call M {=m}.fc1({M:raw})

3| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3, 3))
        self.b = nn.Parameter(torch.zeros(3))

    def forward(self, {M:arg}):
        @name M self.w param
        @name V self.b param
        {block:2}
        return {M:op}
{net:fresh=m} = {=C}()
@name M {=m}.w param
@name V {=m}.b param

2| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3, 3))
        self.register_buffer("k", torch.zeros(3, 3))

    def forward(self, {M:arg=x}):
        @name M self.w param
        @name M self.k mid
        <<{block:1}|self.k = 0.9 * self.k + 0.1 * {=x}|self.k.mul_(0.9)|self.k += {=x}.detach()|self.k = {M:op}>>
        with torch.no_grad():
            <<self.k.mul_(0.9).add_(0.1 * {=x})|self.k = {M:op}|self.k.copy_({M:raw})|pass>>
        return {=x} @ self.w + self.k
{net:fresh=m} = {=C}()
@name M {=m}.w param
@name M {=m}.k mid

2| class {cls:fresh=C}(nn.Module):
    def __init__(self, size=3, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(size, size) for _ in range(depth)])
        self.act = <<nn.ReLU()|nn.ReLU(inplace=True)|nn.Tanh()|nn.Identity()>>

    def forward(self, {M:arg=x}):
        for layer in self.layers:
            {=x} = self.act(layer({=x}))
            <<pass|{block:1}>>
        return {=x}
{net:fresh=m} = {=C}(<<|depth=3|3, 1>>)
@name M {=m}.layers[0].weight param

1.5| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.<<GRUCell|RNNCell>>(3, 3)
        self.h = <<None|torch.zeros(3, 3)>>

    def forward(self, x):
        if self.h is None:
            self.h = torch.zeros(3, 3)
        self.h = self.cell(x, self.h<<||.detach()>>)
        return self.h

    def reset(self):
        self.h = <<None|self.h.detach()|torch.zeros(3, 3)>>
{net:fresh=m} = {=C}()
@do {=m}({M:raw}).sum().backward()
@do {=m}.reset()
@call M {=m}({M:raw})

1| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3, 3))
        self.k = self.w<<.exp()| * 2| + 1|.t()|.softmax(1)>>

    def forward(self, x):
        return x @ self.k
{net:fresh=m} = {=C}()
@name M {=m}.w param
@name M {=m}.k mid

1| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential({layer}, {layer}, {layer})
        self.head = nn.Linear(3, 3)

    def features(self, x):
        return self.body(x)

    def forward(self, x, {flag:arg=c}=True):
        h = self.features(x)
        @name M h mid
        if {=c}:
            {block:1}
        return self.head(h)

    def loss(self, x, y):
        return F.mse_loss(self(x), y)
{net:fresh=m} = {=C}()
@call M {=m}({M:raw}, <<True|False>>)
@call M {=m}.features({M:raw})
@call S {=m}.loss({M:raw}, {M:raw})
@name M {=m}.head.weight param

1| class {cls:fresh=B}(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)<<|.relu()|.exp()>>

class {cls:fresh=C}({=B}):
    def __init__(self, scale=2.0):
        super().__init__()
        self.scale = scale
        self.extra = {layer}

    def forward(self, x):
        out = super().forward(x)
        @name M out mid
        {block:1}
        return self.extra(out) * self.scale
{net:fresh=m} = {=C}()
{net:fresh} = {=B}()
@name M {=m}.fc.weight param

0.8| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({{"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}})
        self.temps = nn.ParameterList([nn.Parameter(torch.rand(3)) for _ in range(2)])

    def forward(self, x, key="a"):
        out = self.heads[key](x)
        for t in self.temps:
            out = out <<*|+>> t
        return out
{net:fresh=m} = {=C}()
@call M {=m}({M:raw}, "b")

0.8| class {cls:fresh=C}(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.gate = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return x <<+|*>> self.gate * self.inner(x)
{net:fresh=m} = {=C}({net:var})
{net:fresh} = {=C}(nn.Linear(3, 3))
@name S {=m}.gate param

0.7| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(3, 3)
        self.k = nn.Linear(3, 3)
        self.v = nn.Linear(3, 3)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.t()
        scores <<*= 0.5|= scores * 0.5|/= 2|+= 1>>
        weights = F.softmax(scores, dim=1)
        <<weights[0] = 0|pass|weights *= 2|weights = weights.masked_fill(weights < 0.1, 0.0)>>
        return weights @ v
{net:fresh} = {=C}()

0.7| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(3, 3)
        self.mu = nn.Linear(3, 3)
        self.logvar = nn.Linear(3, 3)

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        std = (0.5 * logvar).exp<<|_>>()
        return mu + std * torch.randn_like(std)<<|.detach()>>, mu, logvar
{name:fresh=m} = {=C}()
@do {M:new=r}, {M:fresh=a}, {M:fresh=b} = {=m}({M:raw})\\n{S:new} = {=r}.mean() - (1 - {=a} ** 2 - {=b}.exp()).mean()

0.5| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.memory = {{}}
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        out = self.fc(x)
        if "last" in self.memory:
            out = out + self.memory["last"]
        self.memory["last"] = out<<||.detach()>>
        if self.calls % 2 == 0:
            self.memory.<<clear()|pop("last")>>
        return out
{net:fresh=m} = {=C}()
@do {=m}({M:raw}).sum().backward()
""",
)

CLASSES = (*PLAIN, *MODULES)
