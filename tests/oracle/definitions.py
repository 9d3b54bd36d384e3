"""Functions and classes: each paragraph defines one and says how it can be called afterwards."""

from __future__ import annotations

from .tables import paragraphs

FUNCTIONS = paragraphs(
    "define",
    """
4| def {fn:fresh=f}({V:arg}, {M:arg}):
    {block}
    return {T:op}
@call T {=f}({V:raw}, {M:raw})

3| def {fn:fresh=f}({M:arg}):
    {block}
    return {M:op}
@call M {=f}({M:raw})

3| def {fn:fresh=f}({M:arg=a}, {M:arg=b}):
    {block:2}
    return {S:op}
@call S {=f}({M:raw}, {M:raw})
@call S {=f}({M:raw}, {=b}={M:raw})
@do {=f}({M:raw}, {M:raw}).backward()

2| def {fn:fresh=f}({M:arg=a}, {float:arg=k}=0.5, {flag:arg=c}=True):
    {block:2}
    if {=c}:
        return {M:op}
    return {M:op} * {=k}
@call M {=f}({M:raw})
@call M {=f}({M:raw}, {num})
@call M {=f}({M:raw}, {=c}=False)
@call M {=f}({=a}={M:raw}, {=k}=2.0)

1.5| def {fn:fresh=f}({M:arg=a}, {name:arg=n}=None):
    if {=n} is None:
        {=n} = torch.<<zeros|rand>>(3, 3)
    @name M {=n} mid
    {block:2}
    return {M:op}
@call M {=f}({M:raw})
@call M {=f}({M:raw}, {M:raw})

1| def {fn:fresh=f}(*{listM:arg=xs}):
    {block:1}
    return sum({=xs})
@call M {=f}({M:raw}, {M:raw})
@call M {=f}({M:raw})
@call M {=f}(*{listM:var})

0.6| def {fn:fresh=f}({M:arg}, **{name:arg=o}):
    {block:1}
    return {M:op} * {=o}.get("scale", 1.0)
@call M {=f}({M:raw})
@call M {=f}({M:raw}, scale={num})
@call M {=f}({M:raw}, **{{"scale": 2}})

1| def {fn:fresh=f}({V:arg}, *, {S:arg=k}):
    {block:2}
    return {V:op}
@call V {=f}({V:raw}, {=k}={S:raw})

2| def {fn:fresh=f}({M:arg}):
    {block:2}
    return {M:op}, {S:op}
@do {M:new}, {S:new} = {=f}({M:raw})
@call M {=f}({M:raw})[0]
@call S {=f}({M:raw})[1]

1| def {fn:fresh=f}({M:arg}):
    {block:1}
    return {{"out": {M:op}, "loss": {S:op}}}
@call M {=f}({M:raw})["out"]
@call S {=f}({M:raw})["loss"]

1.5| def {fn:fresh=f}({S:arg=l}):
    {block:1}
    {=l}.backward(<<|retain_graph=True>>)
    return {=l}.item()
@do {=f}({S:raw})
@do {number:fresh} = {=f}({S:raw})

1.5| def {fn:fresh=f}({M:arg=a}):
    {block:1}
    {=a}.<<add_|mul_|sub_>>({num})
    {block:1}
@do {=f}({M:raw})
@do {=f}({M:var})

1| def {fn:fresh=f}({M:arg=a}):
    {=a} = {=a} <<+|*>> {M}
    return {=a}
@call M {=f}({M:raw})

1| def {fn:fresh=f}({M:arg=a}):
    {=a} <<+|*|->>= {M:raw}
    return {=a}
@call M {=f}({M:raw})
@do {M:new} = {=f}({M:var})

1| @torch.no_grad()
def {fn:fresh=f}({M:arg}):
    {block:2}
    return {M:op}
@call M {=f}({M:raw})

0.5| @torch.enable_grad()
def {fn:fresh=f}({M:arg}):
    {block:1}
    return {M:op}
@call M {=f}({M:raw})

0.5| @torch.inference_mode()
def {fn:fresh=f}({M:arg}):
    {block:1}
    return {M:op}
@call M {=f}({M:raw})

0.3| @torch.no_grad
def {fn:fresh=f}({V:arg}):
    return {V:op}
@call V {=f}({V:raw})

0.8| {fn:fresh=f} = lambda a: a * {num} + {V}
@call V {=f}({V:raw})

0.6| {fn:fresh=f} = lambda a, b=2.0: (a * b).sum()
@call S {=f}({M:raw})
@call S {=f}({V:raw}, b={num})

0.8| def {fn:fresh=f}({M:arg=a}, {int:arg=n}):
    if {=n} == 0:
        return {=a}
    return {=f}({=a}<<.exp()| + 1| * 2|.sin()>>, {=n} - 1)
@call M {=f}({M:raw}, {n})

1| def {fn:fresh=f}({M:arg}):
    for {int:fresh=i} in range({n}):
        {block:1}
        yield {M:op}
@do for {M:fresh=t} in {=f}({M:raw}):\\n    {block:2}
@call M sum({=f}({M:raw}))
@do {listM:fresh} = list({=f}({M:raw}))
@call M next({=f}({M:raw}))

0.4| def {fn:fresh=f}({M:arg=a}):
    with torch.no_grad():
        yield {M:op}
    yield {=a}
@do for {M:fresh=t} in {=f}({M:raw}):\\n    {block:2}

0.4| def {fn:fresh=f}({M:arg=a}, {M:arg=b}):
    yield from ({=a}, {=b}, {M:op})
@call M sum({=f}({M:raw}, {M:raw}))

1| def {fn:fresh=f}({V:arg=k}):
    def {name:fresh=inner}({V:arg}):
        {block:1}
        return {V:op}
    return {=inner}
{name:fresh=made} = {=f}({V:raw})
@call V {=made}({V:raw})
@call V {=f}({V:raw})({V:raw})

0.7| def {fn:fresh=f}():
    {S:fresh=total} = torch.zeros(())
    def {name:fresh=add}({S:arg=l}):
        nonlocal {=total}
        {=total} = {=total} + {=l}<<||.detach()>>
        return {=total}
    return {=add}
{name:fresh=made} = {=f}()
@call S {=made}({S:raw})
@do {=made}({S:raw}).backward()

0.6| {S:fresh=g} = torch.zeros(())
def {fn:fresh=f}({S:arg=l}):
    global {=g}
    {=g} = {=g} + {=l}<<||.detach()>>
    return {=g}
@do {=f}({S:raw})
@call S {=f}({S:raw})
@do {=g}.backward()

0.5| {S:fresh=g} = torch.zeros(())
def {fn:fresh=f}():
    global {=g}
    {=g} = {S:op}
@do {=f}()
@do {=g}.backward()

0.7| def {wrapper:fresh=d}(function):
    def inner(*args, **kwargs):
        <<{block:1}|pass|result = None>>
        with torch.<<no_grad|enable_grad>>():
            result = function(*args, **kwargs)
        return result
    return inner
@{=d}
def {fn:fresh=f}({M:arg}):
    {block:1}
    return {M:op}
@call M {=f}({M:raw})

0.5| def {wrapper:fresh=d}(scale):
    def decorate(function):
        @functools.wraps(function)
        def inner(x):
            return function(x) * scale
        return inner
    return decorate
@{=d}({num})
def {fn:fresh=f}({M:arg}):
    return {M:op}
@call M {=f}({M:raw})

0.4| @contextlib.contextmanager
def {fn:fresh=f}(enabled):
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(enabled)
    try:
        yield
    finally:
        torch.set_grad_enabled(previous)
@do with {=f}(<<True|False>>):\\n    {block:2}

0.4| def {fn:fresh=f}(function, {M:arg=a}):
    {block:1}
    return function({=a})
@call M {=f}(torch.<<exp|sin|sigmoid|relu>>, {M:raw})
@call M {=f}(lambda t: t * {num}, {M:raw})
@call M {=f}({linear:var}, {M:raw})

0.5| def {fn:fresh=f}():
    {block:3}
@do {=f}()

0.6| def {fn:fresh=f}({int:arg=i}):
    if {=i} == 0:
        {block:1}
        return {S:op}
    elif {=i} == 1:
        return {S:op}
    return {S:op}
@call S {=f}({n})
@call S {=f}(0)
@call S {=f}({int:raw})

0.4| {fn:fresh=f} = functools.partial(F.<<dropout|leaky_relu|relu>>, <<inplace=True|inplace=False>>)
@call M {=f}({M:raw})

0.4| {fn:fresh=f} = functools.partial(torch.mul, {M:raw})
@call M {=f}({M:raw})

0.5| def {fn:fresh=f}({listM:arg=xs}):
    {=xs}.append({M:op})
    return {=xs}[0]
@call M {=f}({listM:var})

0.4| def {fn:fresh=f}({M:arg=a}, cache=[]):
    cache.append({M:op})
    return cache[0] + {=a}
@call M {=f}({M:raw})

0.3| @functools.lru_cache(maxsize=None)
def {fn:fresh=f}({int:arg=n}):
    return {M:op}
@call M {=f}({n})

0.3| @torch.jit.ignore
def {fn:fresh=f}({M:arg}):
    return {M:op}
@call M {=f}({M:raw})
""",
)

CUSTOM = paragraphs(
    "custom",
    """
1| class {cls:fresh=C}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 2 * x * grad
@call T {=C}.apply({T:raw})

0.7| class {cls:fresh=C}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        result, = ctx.saved_tensors
        return grad * result
@call T {=C}.apply({T:raw})

0.5| class {cls:fresh=C}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.<<round|sign|clone|abs>>()

    @staticmethod
    def backward(ctx, grad):
        return grad<<| * 2|.clone()>>
@call T {=C}.apply({T:raw})

0.4| class {cls:fresh=C}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.<<scale = scale|x = x; ctx.scale = scale>>
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None
@call T {=C}.apply({T:raw}, {num})

0.3| class {cls:fresh=C}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        left = grad * y if ctx.needs_input_grad[0] else None
        right = grad * x if ctx.needs_input_grad[1] else None
        return left, right
@call T {=C}.apply({T:raw}, {T:raw})
""",
)

DEFINITIONS = (*FUNCTIONS, *CUSTOM)
