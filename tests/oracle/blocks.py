"""The compound statements: modes, branches, loops and handlers."""

from __future__ import annotations

from .tables import paragraphs

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

COMPOUND = (*MODES, *BRANCHES, *LOOPS, *FLOW, *HANDLERS)
