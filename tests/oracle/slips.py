"""Mistakes: statements that fail on the spot, and pieces whose backward may find its tensors changed."""

from __future__ import annotations

from .tables import paragraphs

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

0.2| {S:fresh=l} = {T:whole}.detach()<<.sum()|.mean()>>
<<{=l}.backward()|{=l}.requires_grad_().backward()|{=l}.requires_grad = True>>

0.2| {S:fresh=l} = (({M} > {num}).float() - {M:const}).pow(2).mean()
{=l}.backward()

0.2| {S:fresh=l} = torch.tensor({S}.item(), requires_grad=<<True|False>>)
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

CLASHES = paragraphs(
    "clash",
    """
2| {S:new=l} = {S:op}
{T:mid}<<.add_({num})|.mul_({num})|.exp_()|.zero_()|.copy_({T:raw})|.relu_()|.add_({T:raw})|.clamp_(0, 1)>>
{=l}.backward(<<|retain_graph=True>>)

1| {M:fresh=y} = {M:op}
{S:new=l} = <<({=y} * {M}).sum()|{=y}.exp().mean()|{=y}.pow(2).sum()|({=y} @ {M}).sum()|{=y}.norm()|{=y}.mean()>>
{=y}<<[0] = {num}|.mul_({num})|.t().add_({num})|[:, 0].zero_()|.detach().add_({num})|.data.add_({num})| += {M}>>
{=l}.backward()

1| {V:fresh=y} = {V:op}
{V:fresh=z} = {=y}<<.exp()|.sin()|.sqrt()|.tanh()|.abs()| * {V}| / {V}| ** 2| + {V}|.softmax(0)|.cumprod(0)>>
{=z}<<[0] = {num}|.mul_({num})|.relu_()|[1:] *= {num}|.add_({V:raw})| *= {S:raw}>>
<<{=y}.sub_({num})|{V:mid}.add_({num})|pass|pass>>
{=z}.sum().backward(<<|retain_graph=True>>)

1| {S:new=l} = {S:op}
with torch.no_grad():
    {T:param}<<.add_({num})|.mul_({num})|.zero_()|.copy_({T:raw})|.sub_({T:raw})>>
{=l}.backward(<<|retain_graph=True>>)

1| {S:new=l} = {S:op}
{=l}.backward(retain_graph=True)
{opt:var=o}.<<step|step|zero_grad>>()
{=l}.backward()

1| {S:new=l} = {net:var=n}({net:var}({M:raw})).<<sum|mean>>()
{=l}.backward(retain_graph=True)
<<{opt:var}.step()|nn.init.zeros_({M:param})|{=n}.zero_grad()|nn.utils.clip_grad_norm_({=n}.parameters(), 1.0)>>
{=l}.backward()

1| {M:fresh=h} = {net:var}({M:raw})
{S:fresh=l1} = {=h}.<<sum|mean|norm>>()
{M:fresh=k} = {=h}<<.relu()| * {M}|.exp()|.detach()| + {M}>>
{S:fresh=l2} = ({=k} * {M}).mean()
<<{=l1}.backward(retain_graph=True)|{=l1}.backward()|torch.autograd.backward([{=l1}, {=l2}])>>
{=l2}.backward()

0.5| {M:new=g} = {M:graph}
{S:new=l} = ({=g} ** 2).sum()
for {V:fresh=r} in {=g}<<|.unbind(0)|.detach()>>:
    {=r}<<.add_({num})| *= {num}|.zero_()>>
{=l}.backward()

0.5| {idx:fresh=t} = torch.tensor([0, 1, 2])
{S:new=l} = <<F.cross_entropy({M:graph}, {=t})|{V:graph}[{=t}].sum()|{M:graph}.gather(1, {=t}.unsqueeze(1)).sum()>>
{=t}<<[0] = 1|.copy_(torch.tensor([2, 1, 0]))|.add_(0)|.zero_()>>
{=l}.backward()

0.5| {maskV:fresh=m} = {V:raw} > {num}
{S:new=l} = <<{V:graph}.masked_fill({=m}, 0.0)|torch.where({=m}, {V:graph}, {V:raw})|{V:graph}[{=m}]>>.sum()
<<{=m}[0] = True|{=m}.fill_(False)|{=m}.logical_not_()|pass>>
{=l}.backward()
""",
)
