"""What people ask about in public threads, as small programs: two networks, carried states, several losses, buffers."""

from __future__ import annotations

from .tables import paragraphs

THREADS = paragraphs(
    "thread",
    """
1| class {cls:fresh=C}(nn.Module):
    def __init__(self, beta=0.9):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.beta = beta
        self.mem = None

    def reset(self):
        self.mem = None

    def forward(self, x):
        if self.mem is None:
            self.mem = torch.zeros(3, 3)
        self.mem = self.beta * self.mem<<||.detach()>> + self.fc(x)
        return (self.mem > 0.5).float()<<| + self.mem - self.mem.detach()| * self.mem>>
{net:fresh=m} = {=C}()
for {int:fresh} in range({n}):
    <<{=m}.reset()|pass>>
    {S:fresh=l} = F.mse_loss({=m}({M:raw}), {M:raw})
    {=l}.backward()
    ? {=m}.mem = {=m}.mem.detach()

1| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRUCell(3, 3)
        self.register_buffer("h", torch.zeros(3, 3), persistent=False)

    def forward(self, x):
        h = self.gru(x, self.h)
        self.h = h<<|.detach()>>
        return h
{net:fresh=m} = {=C}()
{opt:fresh=o} = torch.optim.SGD({=m}.parameters(), lr={lr})
for {int:fresh=t} in range({n}):
    {=o}.zero_grad()
    {=m}({M:raw}).pow(2).mean().backward()
    {=o}.step()
    if {=t} % <<2|5>> == 1:
        {=m}.h = {=m}.h.detach()

1| class {cls:fresh=C}:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)
{obj:fresh=meter} = {=C}()
for {int:fresh} in range({n}):
    {S:fresh=l} = F.mse_loss({net:var}({M:raw}), {M:raw})
    {=l}.backward()
    {=meter}.update({=l}<<|.item()|.detach()>>, n=3)
<<{=meter}.avg.backward()|pass|{S:new} = {=meter}.avg|print(f"{{{=meter}.avg:.3f}}")>>

1| def train_step(batch, *, nets, optimizers, weight=1.0, **unused):
    gen, disc = nets
    fake = gen(batch)
    optimizers["d"].zero_grad()
    loss_d = F.softplus(disc(fake<<|.detach()>>)).mean() + F.softplus(-disc(batch)).mean()
    loss_d.backward(<<||retain_graph=True>>)
    <<optimizers["d"].step()|pass>>
    optimizers["g"].zero_grad()
    loss_g = weight * F.softplus(-disc(fake)).mean()
    ? optimizers["d"].step()
    loss_g.backward()
    optimizers["g"].step()
    return {{"d": loss_d<<|.item()>>, "g": loss_g}}
{linear:fresh=G}, {linear:fresh=D} = nn.Linear(3, 3), nn.Linear(3, 3)
{opt:fresh=od}, {opt:fresh=og} = torch.optim.SGD({=D}.parameters(), lr={lr}), torch.optim.Adam({=G}.parameters())
{name:fresh=os} = {{"d": {=od}, "g": {=og}}}
for {int:fresh=i} in range({n}):
    {name:fresh=logs} = train_step({M:raw}, nets=({=G}, {=D}), optimizers={=os}, <<weight=0.5|step={=i}>>)
? {=logs}["g"].backward()

1| @let {net:var=m}
{S:fresh=l} = F.mse_loss({=m}({M:raw}), {M:raw})
{=l}.backward(<<|retain_graph=True>>)
with torch.no_grad():
    {name:fresh=old} = [p.clone() for p in {=m}.parameters()]
    for p in {=m}.parameters():
        if p.grad is not None:
            p.add_(p.grad, alpha=0.05)
{=m}.zero_grad()
<<F.mse_loss({=m}({M:raw}), {M:raw})|{=l}>>.backward()
with torch.no_grad():
    for p, w in zip({=m}.parameters(), {=old}):
        p.copy_(w)

1| @let {net:var=m}
{M:fresh=p1}, {M:fresh=p2} = {=m}({M:raw}), {=m}({M:raw})
{S:fresh=ce} = F.mse_loss({=p1}, {M:raw}) + F.mse_loss({=p2}, {M:raw})
{S:fresh=kl} = F.kl_div(F.log_softmax({=p1}, -1), F.softmax({=p2}<<|.detach()>>, -1), reduction="sum")
<<({=ce} + {=kl}).backward()|{=ce}.backward()|{=ce}.backward(retain_graph=True)>>
<<{=kl}.backward()|pass|({=kl} * 0.5).backward()>>

1| {name:fresh=LOSSES} = {{}}

def register(name):
    def wrap(fn):
        {=LOSSES}[name] = fn
        return fn
    return wrap

@register("l2")
def l2(a, b):
    return (a - b).pow(2).mean()

@register("l1")
def l1(a, b):
    return (a - b).abs().<<mean|sum>>()
{M:fresh=out} = {net:var}({M:raw})
{name:fresh=parts} = {{name: fn({=out}, {M:raw}) for name, fn in {=LOSSES}.items()}}
{S:fresh=total} = sum(0.5 * v for v in {=parts}.values())
<<{=total}.backward()|{=parts}["l2"].backward()|{=parts}["l2"].backward(retain_graph=True)>>
? {=parts}["l1"].backward()

1| class {cls:fresh=B}(abc.ABC):
    def __init__(self, model, **options):
        self.model = model
        self.options = {{"retain": False, **options}}
        self.history = []

    @abc.abstractmethod
    def loss(self, x):
        ...

    def fit(self, *batches):
        for x in batches:
            loss = self.loss(x)
            loss.backward(retain_graph=self.options["retain"])
            self.history.append(loss<<|.item()|.detach()>>)
        return self

class {cls:fresh=C}({=B}):
    def __init__(self, model, **options):
        super().__init__(model, **options)
        self.target = <<torch.rand(3, 3)|model(torch.rand(3, 3))|model(torch.rand(3, 3)).detach()>>

    def loss(self, x):
        return F.mse_loss(self.model(x), self.target)
{obj:fresh=o} = {=C}({linear:var}, <<retain=True|retain=False|lr={lr}>>)
{=o}.fit({M:raw}, {M:raw})
? sum({=o}.history).backward()

1| class {cls:fresh=C}(nn.Module):
    def __init__(self, size=3):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size))
        self._cache = {{}}

    def table(self, n):
        key = (n, "cpu")
        if key not in self._cache:
            self._cache[key] = torch.outer(torch.arange(n).float(), self.scale<<||.detach()>>)
        return self._cache[key]

    def forward(self, x):
        return x * self.table(x.shape[0])<<|.sin()>>
{net:fresh=m} = {=C}()
for {int:fresh} in range({n}):
    {=m}({M:raw}).sum().backward()
    ? {=m}._cache.clear()

1| @contextlib.contextmanager
def frozen(*modules):
    before = [[p.requires_grad for p in m.parameters()] for m in modules]
    for m in modules:
        m.requires_grad_(False)
    try:
        yield
    finally:
        for m, flags in zip(modules, before):
            for p, flag in zip(m.parameters(), flags):
                p.requires_grad_(flag)
@let {linear:var=a}
with frozen({=a}<<|, {linear:var}>>):
    {S:fresh=l} = {=a}({M:raw}).sum()
    <<{=l}.backward()|pass|pass>>
<<{=l}.backward()|{=a}({M:raw}).sum().backward()>>

1| class {cls:fresh=C}:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {{name: p<<.detach()|.data|>>.clone() for name, p in model.named_parameters()}}

    @torch.<<no_grad|enable_grad>>()
    def update(self, model):
        d, s = self.decay, self.shadow
        for name, p in model.named_parameters():
            <<s[name].mul_(d).add_(p, alpha=1 - d)|s[name] = d * s[name] + (1 - d) * p|s[name] = d * s[name] + p.data>>
@let {linear:var=m}
{obj:fresh=e} = {=C}({=m})
for {int:fresh} in range({n}):
    {S:fresh=l} = F.mse_loss({=m}({M:raw}), {M:raw})<< + {=e}.shadow["weight"].sum()|>>
    {=l}.backward()
    {=e}.update({=m})

1| {S:fresh=penalty} = 0.0
for name, {T:fresh=p} in {linear:var=m}.named_parameters():
    {=penalty} = {=penalty} + {=p}.<<abs()|pow(2)|norm()>>.sum()
for {int:fresh} in range({n}):
    {S:fresh=l} = {=m}({M:raw}).mean() + 0.01 * {=penalty}
    {=l}.backward(<<||retain_graph=True>>)

1| {name:fresh=state} = {{"h": torch.zeros(3, 3), "step": 0}}

def tick(model, x, state):
    state["step"] += 1
    state["h"] = torch.tanh(model(x) + state["h"]<<|.detach()>>)
    return state["h"].mean()
while {=state}["step"] < 3:
    tick({linear:var}, {M:raw}, {=state}).backward()
    <<{=state}["h"] = {=state}["h"].detach()|pass|{=state} = {{**{=state}, "h": {=state}["h"].data}}>>

1| {name:fresh=buffer} = collections.deque(maxlen=2)
for {int:fresh} in range(3):
    {V:fresh=lp} = F.log_softmax({linear:var}({V:raw}), dim=-1)
    {=buffer}.append(({=lp}[0], ({S:raw})<<|.item()>>, {=lp}<<|.detach()>>))
{S:fresh=a} = sum(-a * r for a, r, _ in {=buffer})
{=a}.backward(<<|retain_graph=True>>)
? (torch.stack([p.exp().sum() for *_, p in {=buffer}]).mean()).backward()

1| {M:fresh=real}, {M:fresh=noise} = torch.rand(3, 3), torch.zeros(3, 3<<|, requires_grad=True>>)
for {int:fresh} in range({n}):
    <<{=noise}.requires_grad_()|pass>>
    {S:fresh=l} = {net:var}({=real} + {=noise}).sum()
    {=l}.backward()
    {M:fresh=s} = {=noise}.grad.sign()
    <<{=noise} = ({=noise} + 0.1 * {=s}).detach()|{=noise}.data += 0.1 * {=s}|{=noise} += 0.1|{=noise} = {=noise} * 2>>

0.8| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({{"a": nn.Linear(3, 3), "b": nn.Linear(3, 1)}})
        self.body = nn.Sequential(*[nn.Linear(3, 3), nn.<<ReLU|Tanh|Identity>>()])

    def forward(self, x):
        z = self.body(x)
        return {{name: head(z) for name, head in self.heads.items()}}
{net:fresh=m} = {=C}()
{name:fresh=outs} = {=m}({M:raw})
{S:fresh=a}, {S:fresh=b} = {=outs}["a"].sum(), {=outs}["b"].sum()
<<({=a} + {=b}).backward()|{=a}.backward()|{=a}.backward(retain_graph=True)>>
? {=b}.backward()

0.8| def unrolled(w, steps, x):
    for i in range(steps):
        g, = torch.autograd.grad(((x @ w) ** 2).sum(), w<<, create_graph=True||, create_graph=i < steps - 1>>)
        w = w - 0.1 * g
    return w
{M:fresh=w} = {M:param}
{M:fresh=fast} = unrolled({=w}, <<1|2>>, {M:raw})
{=fast}.sum().backward()
? unrolled({=w}<<|.detach()>>, 1, {M:raw}).mean().backward()

0.8| {name:fresh=outer} = 0

def objective(x):
    global {=outer}
    loss = {net:var}(x).pow(2).mean()
    {=outer} += loss<<|.item()|.detach()>>
    return loss
for {int:fresh} in range({n}):
    objective({M:raw}).backward()
<<{=outer}.backward()|pass|print(f"{{{=outer}}}")>>

0.8| {M:fresh=x} = {M:raw}
{name:fresh=act} = nn.<<ReLU(inplace=True)|Sigmoid()|Tanh()|Dropout(0.1, inplace=True)>>
for {name:fresh=f} in [nn.Linear(3, 3), {=act}, nn.Linear(3, 3)]:
    {M:fresh=y} = {=f}({=x})
    <<{=y} += {=x}|{=y} = {=y} + {=x}|{=y} /= {=y}.norm()|{=y}.clamp_(0, 1)>>
    {=x} = {=y}
{=x}.sum().backward()

0.8| {name:fresh=cfg} = types.SimpleNamespace(lr={lr}, steps={n}, retain=<<True|False>>)
{M:fresh=h} = {linear:var=m}({M:raw})
for {int:fresh} in range({=cfg}.steps):
    {=h}.sum().backward(retain_graph={=cfg}.retain)
    for p in filter(lambda p: p.grad is not None, {=m}.parameters()):
        <<p.data.sub_({=cfg}.lr * p.grad)|p.grad = None|pass>>

0.8| with contextlib.ExitStack() as {name:fresh=stack}:
    <<{=stack}.enter_context(torch.no_grad())|pass|{=stack}.enter_context(torch.enable_grad())>>
    {M:fresh=h} = {linear:var}({M:raw})
    {S:new=l} = {=h}.mean()
{=l}.backward()

0.8| {name:fresh=params} = {{k: v<<|.detach()|.clone()>> for k, v in {linear:var=m}.named_parameters()}}
{S:new=l} = torch.func.functional_call({=m}, {=params}, ({M:raw},)).sum()
{=l}.backward()

0.8| {M:fresh=w} = {M:raw}
{S:fresh=l} = None
for {int:fresh=i} in range(3):
    {S:fresh=t} = ({=w} * {M}).mean()
    {=l} = {=t} if {=l} is None else {=l} + {=t}
    if {=i} < 1:
        continue
    {=l}.backward(<<||retain_graph=True>>)
    <<{=l} = None|{=l} = {=l}.detach()|pass>>
else:
    {block:1}

0.8| {S:fresh=main}, {S:fresh=aux} = (f({net:var}({M:raw})) for f in (torch.mean, lambda t: t.pow(2).sum()))
{S:fresh=l} = {=main}
<<if {n} > 1:|for {int:fresh} in range(2):>>
    {=l} <<+= 0.1 * {=aux}|= {=l} + 0.1 * {=aux}|*= 0.5|/= 2>>
{=l}.backward()
? {=main}.backward()

0.8| def batches(count, *, detach=False):
    state = torch.zeros(3, 3)
    for _ in range(count):
        state = {linear:var}(torch.rand(3, 3)) + state
        got = yield state.detach() if detach else state
        if got:
            state = state.detach()
{name:fresh=g} = batches(3<<|, detach=True>>)
for {M:fresh=s} in {=g}:
    ({=s} * {M}).sum().backward(<<||retain_graph=True>>)
    ? {=g}.send(True)
""",
)
