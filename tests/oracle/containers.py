"""Lists, dicts, tuples and small objects that hold tensors, and what is done to them."""

from __future__ import annotations

from .tables import paragraphs

CONTAINERS = paragraphs(
    "container",
    """
1| {listS:fresh=l} = [{S:raw}, {S:raw}]

0.7| {listM:fresh=l} = [{M:raw}, {M:raw}]

0.5| {listV:fresh} = [{V:raw}, {V:raw}, {V:raw}]

0.4| {listM:fresh} = list(({M:raw}, {M:raw}))

0.4| {listV:fresh} = list({M}.unbind(0))

0.3| {listV:fresh} = [r for r in {M}]

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
    {=l}.append({S:whole}<<||.detach()>>)
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
