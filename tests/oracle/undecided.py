"""Branches whose truth the source does not settle: data, chance, the environment."""

from __future__ import annotations

from .tables import paragraphs, rows

MAYBE = rows(
    "maybe",
    """
3| {S:var}.item() > 0.4
1| float({S:var}) < 0.3
1| {M:var}.mean() > 0.5
1| {V:var}.max().item() < 0.7
1| torch.isnan({S:var})
1| torch.rand(1).item() > 0.5
1| random.random() < 0.5
0.5| len(sys.argv) > 1
0.5| bool(os.environ.get("FAST"))
0.5| torch.cuda.is_available()
""",
)

UNDECIDED = paragraphs(
    "undecided",
    """
3| if {maybe:raw=c}:
    {block}
@maybe {=c}

2| if {maybe:raw=c}:
    {block:2}
else:
    {block:2}
@maybe {=c}

1| {name:fresh=k} = {maybe:raw=c}
if {=k}:
    {block:2}
{block:2}
if {=k}:
    {block:1}
@maybe {=c}

1| {name:fresh=k} = {maybe:raw=c}
if {=k}:
    {block:2}
{block:1}
if not {=k}:
    {block:2}
@maybe {=c}

1| +for {int:fresh} in range({n}):
    {block:2}
    if {maybe:raw=c}:
        {block:1}
        <<pass|pass|break|continue>>
    {block:1}
@maybe {=c}

1| {T:new} = {T:raw} if {maybe:raw=c} else {T:raw}
@maybe {=c}

1| if {maybe:raw=c}:
    {T:own=a} = {T:op}
else:
    {=a} = {T:op}
@maybe {=c}

1| {S:graph=l}.backward(retain_graph={maybe:raw=c})
{=l}.backward()
@maybe {=c}

1| {S:new=l} = {S:op}
if {maybe:raw=c}:
    {=l} = {=l}.detach()
{=l}.backward()
@maybe {=c}

1| {M:fresh=y} = {M:op}
{M:fresh=z} = {=y}<<.exp()|.tanh()| * {M}| ** 2| + 1>>
if {maybe:raw=c}:
    <<{=z}|{=y}>>.add_({num})
{=z}.sum().backward()
@maybe {=c}

1| with torch.set_grad_enabled({maybe:raw=c}):
    {S:fresh=l} = {S:op}
@name S {=l} graph
<<{=l}.backward()|pass>>
@maybe {=c}

1| def {fn:fresh=f}({M:arg=a}):
    if {maybe:raw=c}:
        return {M:op}
    {block:2}
    return {M:op}
@maybe {=c}
@call M {=f}({M:raw})
""",
)
