"""Longer idioms of training code: validation, distillation, truncated sequences, adversaries, averages, hooks."""

from __future__ import annotations

from .tables import paragraphs

PRACTICE = paragraphs(
    "practice",
    """
1| {linear:fresh=teacher} = nn.Linear(3, 3)
<<with torch.no_grad():|for _ in range(1):>>
    {M:fresh=soft} = F.softmax({=teacher}({M:raw}), dim=1)
@name M {=soft} const
{S:new=l} = F.kl_div(F.log_softmax({net:var}({M:raw}), dim=1), {=soft}<<|.detach()>>, reduction="batchmean")
{=l}.backward()

1| @torch.no_grad()
def evaluate(model, batches):
    model.eval()
    total = 0.0
    for batch in batches:
        total += model(batch).sum()
    model.train()
    return total<<|.item()| / len(batches)>>
{number:fresh=r} = evaluate({net:var}, [{M:raw}, {M:raw}])

1| {net:var=m}.eval()
with torch.<<no_grad|inference_mode>>():
    {S:fresh=val} = F.mse_loss({=m}({M:raw}), {M:raw})
{=m}.train()
@name S {=val} const

1| {name:fresh=target} = copy.deepcopy({net:var=m})
for {int:fresh} in range({n}):
    {S:fresh=l} = F.mse_loss({=m}({M:raw}), {=target}({M:raw})<<|.detach()>>)
    {=l}.backward()
    for p, q in zip({=m}.parameters(), {=target}.parameters()):
        <<q.data.mul_(0.9).add_(p.data, alpha=0.1)|q.data.copy_(p.data)|q.data = p.data.clone()>>

0.7| {name:fresh=target} = copy.deepcopy({net:var=m})
{S:fresh=l} = F.mse_loss({=m}({M:raw}), {=target}({M:raw}))
with torch.no_grad():
    for p, q in zip({=m}.parameters(), {=target}.parameters()):
        <<q|p>>.<<mul_(0.9).add_(p, alpha=0.1)|copy_(p)|lerp_(p, 0.1)>>
{=l}.backward()

1| {M:fresh=h} = torch.zeros(3, 3)
{S:fresh=l} = 0.0
@let {cell:var=c}
for {int:fresh=t} in range(4):
    {=h} = {=c}({M:raw}, {=h})
    {=l} = {=l} + {=h}.<<mean|sum|norm>>()
    if ({=t} + 1) % 2 == 0:
        {=l}.backward()
        <<{=h} = {=h}.detach()|{=h} = {=h}.data|pass>>
        <<{=l} = 0.0|{=l} = 0.0|pass>>

1| {listM:fresh=outs} = []
{M:fresh=h} = torch.zeros(3, 3)
@let {cell:var=c}
for {int:fresh} in range({n}):
    {=h} = {=c}({M:raw}, {=h})
    {=outs}.append({=h}<<||.detach()|.clone()>>)
torch.stack({=outs}).sum().backward(<<|retain_graph=True>>)
? {=outs}[-1].mean().backward()

0.8| @let {opt:var=o}
{S:fresh=l1} = {S:op}
{S:fresh=l2} = {S:op}
<<({=l1} + {=l2}).backward()|{=l1}.backward(retain_graph=True)|{=l1}.backward()>>
<<{=o}.step()|pass>>
<<{=l2}.backward()|pass>>
{=o}.zero_grad()

0.8| {M:fresh=x} = {M}.detach()<<|.clone()>>.requires_grad_()
{S:new=l} = F.mse_loss({net:var=m}({=x}), {M:raw})
{=l}.backward(<<|retain_graph=True>>)
{M:fresh=adv} = {=x} + 0.1 * {=x}.grad.sign()
{S:fresh=l2} = F.mse_loss({=m}({=adv}<<|.detach()>>), {M:raw})
<<{=l2}.backward()|({=l} + {=l2}).backward()>>

0.7| {M:fresh=real} = {M:raw}
{M:fresh=mix} = (0.5 * {=real} + 0.5 * {M})<<.detach()|>>.requires_grad_()
{M:fresh=g} = torch.autograd.grad({net:var=d}({=mix}).sum(), {=mix}<<, create_graph=True||, retain_graph=True>>)[0]
{S:new=gp} = (({=g}.norm(dim=1) - 1) ** 2).mean()
({=d}({=real}).mean() + {=gp}).backward()

0.7| {name:fresh=saved} = {{}}
def hook(module, inputs, output):
    {=saved}["out"] = output<<||.detach()>>
{linear:var=m}.register_forward_hook(hook)
{S:new=l} = {=m}({M:raw}).sum()
{=l}.backward()
<<{=saved}["out"].sum().backward()|pass|{=saved}["out"].mean()>>

0.7| {name:fresh=best} = None
for {int:fresh=e} in range({n}):
    {S:fresh=l} = {net:var=m}({M:raw}).mean()
    {=l}.backward()
    if {=best} is None or {=e} == 1:
        {=best} = {=l}<<||.detach()|.item()>>
<<{=best}.backward()|pass|pass>>

0.7| {listM:fresh=queue} = [torch.rand(3, 3)]
for {int:fresh} in range({n}):
    {M:fresh=z} = F.normalize({net:var=m}({M:raw}), dim=1)
    {S:fresh=l} = ({=z} @ {=queue}[-1].t()).logsumexp(1).mean()
    {=l}.backward()
    {=queue}.append({=z}<<|.detach()>>)

0.7| {name:fresh=memory} = []
for {int:fresh} in range({n}):
    {M:fresh=out} = {net:var=m}({M:raw})
    {=memory}.append(({=out}<<||.detach()>>, {M:raw}))
for {M:fresh=o}, {M:fresh=y} in {=memory}:
    F.mse_loss({=o}, {=y}).backward()

0.6| {name:fresh=state} = {linear:var=m}.state_dict()
{S:new=l} = {=m}({=m}({M:raw})).sum()
<<{=m}.load_state_dict({=state})|pass|{=state} = copy.deepcopy({=state})>>
{=l}.backward()

0.6| {V:fresh=flat} = nn.utils.parameters_to_vector({linear:var=m}.parameters())[:3]
{S:new=l} = ({=flat} ** 2).sum()
{=l}.backward()
? {=l}.backward()

0.6| for name, p in {net:var=m}.named_parameters():
    if "bias" in name:
        p.requires_grad = False
{=m}({M:raw}).sum().backward(<<|retain_graph=True>>)

0.6| for p in {net:var=m}.parameters():
    p.requires_grad_(False)
<<{=m}({M:raw}).sum().backward()|pass>>
{=m}[0].requires_grad_(True)
{=m}({M:raw}).sum().backward()

0.6| {S:new=l} = {net:var=m}({M:raw}).sum()
{name:fresh=grads} = torch.autograd.grad({=l}, list({=m}.parameters())<<|, create_graph=True|, retain_graph=True>>)
{S:new=n} = sum(g.pow(2).sum() for g in {=grads})
<<{=n}.backward()|{=l}.backward()|({=l} + {=n}).backward()>>

0.6| {name:fresh=gs} = torch.autograd.grad({linear:var=m}({M:raw}).norm(), {=m}.parameters()<<|, create_graph=True>>)
{name:fresh=fast} = [p - 0.1 * g for p, g in zip({=m}.parameters(), {=gs})]
F.linear({M:raw}, {=fast}[0], {=fast}[1]).pow(2).sum().backward()

0.6| {name:fresh=f} = torch.func.<<grad|vmap>>(lambda t: (t * 2).sum())
{M:new} = {=f}({M:raw}).expand(3, 3).clone()

0.5| def closure():
    {opt:var=o}.zero_grad()
    loss = F.mse_loss({net:var=m}({M:raw}), {M:raw})
    loss.backward()
    return loss
for {int:fresh} in range({n}):
    {=o}.step(closure)

0.6| {name:fresh=data} = torch.utils.data.TensorDataset(torch.rand(6, 3), torch.rand(6, 3))
for {M:fresh=x}, {M:fresh=y} in torch.utils.data.DataLoader({=data}, batch_size=3):
    {S:fresh=l} = F.mse_loss({net:var=m}({=x}), {=y})
    {=l}.backward()
    {block:1}

0.6| {M:fresh=w} = nn.Parameter(torch.rand(3, 3))
{opt:fresh=o} = torch.optim.<<SGD|Adam>>([{=w}], lr={lr})
{S:fresh=l} = ({=w} <<@ {M}|** 2|* {M}|+ {M}>>).sum()
for {int:fresh=i} in range({n}):
    {=o}.zero_grad()
    {=l}.backward(<<|retain_graph=True>>)
    {=o}.step()

0.6| {M:fresh=out} = torch.empty(3, 3)
for {int:fresh=i}, {V:fresh=r} in enumerate({M:raw}):
    {=out}[{=i}] = <<{=r} * {V}|{linear:var}({=r})|{=r}.detach()>>
<<{=out}.relu_()|pass|{=out} *= 2>>
{=out}.sum().backward()

0.5| {M:fresh=mask} = ({M} > 0.5).float()
{M:fresh=out} = {net:var}({M:raw})
{=out}<< *= {=mask}| = {=out} * {=mask}|[{=mask} > 0] = 0.0|.masked_fill_({=mask} > 0, 0.0)>>
<<{=mask}.zero_()|pass|pass>>
{=out}.sum().backward()

0.5| {V:fresh=scale} = nn.Parameter(torch.ones(3))
{M:fresh=out} = {M} * {=scale}
with torch.no_grad():
    <<{=scale}.clamp_(min=0.1)|{=scale}.div_({=scale}.norm())|{=scale}.copy_(torch.ones(3))>>
{=out}.sum().backward()

0.5| {S:fresh=running} = torch.zeros(())
for {int:fresh} in range({n}):
    {S:fresh=l} = {S:op}
    {=running} <<= 0.9 * {=running} + 0.1 * {=l}|+= {=l}|= {=running} + {=l}.item()|.add_({=l}.detach())>>
    {=l}.backward()
<<{=running}.backward()|pass|print({=running})>>

0.5| def train(model, optimizer, batches, clip=None):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss<<||.item()|.detach()>>)
    return sum(losses) / len(losses)
{S:fresh=avg} = train({net:var=m}, {opt:var}, [({M:raw}, {M:raw})] * 2<<|, clip=1.0>>)
<<{=avg}.backward()|pass|pass>>
""",
)
