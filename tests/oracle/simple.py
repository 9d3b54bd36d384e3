"""The statements of one line: making tensors, assigning, writing in place, back-propagating."""

from __future__ import annotations

from .tables import paragraphs, rows

CREATE = rows(
    "create",
    """
2| {T:leaf} = torch.rand({size}, requires_grad=True)
1.5| {T:leaf} = torch.randn({size}, requires_grad=True)
1| {T:leaf} = nn.Parameter(torch.rand({size}))
0.5| {T:leaf} = torch.zeros({size}, requires_grad=True)
0.4| {T:leaf} = torch.ones({size}).requires_grad_()
0.4| {T:leaf} = nn.Parameter({T:raw})
0.3| {T:leaf} = {T}.detach().requires_grad_()
0.2| {T:leaf} = nn.Parameter(torch.zeros({size}), requires_grad=False)
1.5| {T:const} = torch.rand({size})
0.7| {T:const} = torch.zeros({size})
0.4| {T:const} = torch.ones({size})
0.2| {T:const} = torch.empty({size}).normal_()
0.2| {T:const} = torch.full({shape}, 0.5)
0.2| {M:const} = torch.eye(3)
0.2| {V:const} = torch.arange(3.0)
0.2| {V:const} = torch.linspace(0, 1, 3)
0.2| {V:leaf} = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
0.2| {S:leaf} = torch.tensor(1.0, requires_grad=True)
0.6| {idx:fresh} = torch.tensor([0, 2, 1])
0.2| {idx:fresh} = torch.randint(0, 3, (3,))
0.3| {maskV:fresh} = torch.tensor([True, False, True])
0.3| {maskM:fresh} = torch.ones(3, 3).bool()
0.3| {maskV:fresh} = {V:raw} > 0.5
0.2| {maskM:fresh} = {M:raw} > 0.5
0.3| {idx:fresh} = {M}.argmax(dim=1)
0.5| {flag:fresh} = <<True|False>>
0.3| {mode:fresh} = <<"train"|"eval">>
0.3| {float:fresh} = {lr}
""",
)

ASSIGN = rows(
    "assign",
    """
6| {T:new} = {T:op}
2| {M:new} = {M:op}
4| {S:new} = {S:op}
0.7| {T:new} = {T:var}
0.4| {T:new=a} = {T:fresh=b} = {T:op}
0.4| {V:new}, {M:fresh} = {V:op}, {M:op}
0.3| {T:own=a}, {T:own=b} = {T:raw}, {T:raw}
0.4| {T:new} = {T:raw} if {cond:raw} else {T:raw}
0.3| {M:own=a} = {=a} + {M}
0.3| {M:own=a} = {=a} * {M}
0.3| {S:own=a} = {=a} + {S}
0.3| {T:new} = {T:var}.detach()
0.2| {V:fresh}, {V:fresh}, {V:fresh} = {M:raw}
0.3| {V:fresh}, {V:fresh}, {V:fresh} = {M}.unbind(0)
0.2| {V:fresh}, *_ = {M}.unbind(1)
0.2| {V:fresh}, {V:fresh}, {V:fresh} = [r.squeeze(0) for r in {M}.split(1)]
0.2| {V:fresh}, _ = {M}.max(dim=0)
0.2| {V:fresh}, {idx:fresh} = {V}.sort()
0.1| {T:fresh=a} = (lambda: {T:raw})()
0.3| {S:fresh} = sum((t * {num} for t in ({S:raw}, {S:raw})), torch.zeros(()))
0.2| {T:fresh} = torch.autograd.Variable({T:raw}, requires_grad=<<True|False>>)
0.2| {T:new}: torch.Tensor = {T:op}
0.15| ({T:fresh=a} := {T:op})
""",
)

INPLACE = rows(
    "inplace",
    """
2| {T:ownmid} += {T:raw}
0.3| {T:var}.add_({T:raw})
2| {T:mid}.add_({T:raw})
1| {T:mid}.add_({num})
1| {T:mid}.mul_({num})
1| {T:mid}.mul_({T:raw})
0.7| {T:mid}.sub_({T:raw})
0.5| {T:mid}.div_({num})
0.5| {T:mid}.relu_()
0.4| {T:mid}.exp_()
0.4| {T:mid}.sigmoid_()
0.3| {T:mid}.tanh_()
0.3| {T:mid}.sin_()
0.6| {T:mid}.clamp_(0, 1)
0.3| {T:mid}.clamp_(min=0.0)
0.7| {T:mid}.zero_()
0.5| {T:mid}.fill_({num})
1| {T:mid}.copy_({T:raw})
0.3| {T:mid}.neg_()
0.2| {T:mid}.abs_()
0.2| {T:mid}.sqrt_()
0.2| {T:mid}.pow_(2)
0.2| {T:mid}.round_()
0.2| {T:mid}.masked_fill_({T} > 0, 0.0)
0.2| {T:mid}.addcmul_({T:raw}, {T:raw})
0.2| {T:mid}.lerp_({T:raw}, 0.5)
0.2| {T:mid}.normal_()
0.2| {T:mid}.uniform_(0, 1)
0.2| {M:mid}.t_()
0.2| {T:mid}.unsqueeze_(0).squeeze_(0)
0.2| {M:mid}.addmm_({M:raw}, {M:raw})
0.2| {V:mid}.index_fill_(0, {idx:raw}, 0.0)
0.2| {M:mid}.index_add_(0, {idx:raw}, {M:raw})
0.2| {V:mid}.scatter_(0, {idx:raw}, {V:raw})
0.4| F.relu({T:mid}, inplace=True)
0.3| F.relu_({T:mid})
0.2| F.dropout({T:mid}, 0.5, inplace=True)
0.2| F.leaky_relu({T:mid}, 0.1, inplace=True)
0.2| torch.relu_({T:mid})
0.2| torch.sigmoid_({T:mid})
0.6| {T:ownmid} *= {T:raw}
0.5| {T:ownmid} *= {num}
0.5| {T:ownmid} -= {T:raw}
0.3| {T:ownmid} /= {num}
0.2| {T:ownmid} /= {T:raw}
0.2| {T:ownmid} **= 2
0.5| {M:ownmid} += {V:raw}
0.4| {V:ownmid} *= {S:raw}
0.3| {M:ownmid} -= {M}.mean()
0.3| {T:mid=a}.add_({=a})
0.3| {T:mid=a}.mul_({=a}.sigmoid())
0.2| {M:mid=a}.div_({=a}.norm())
0.2| {V:mid=a}.sub_({=a}.mean())
""",
) + rows(
    "setitem",
    """
1| {V:mid}[0] = {S:raw}
1| {V:mid}[0] = {num}
0.6| {V:mid}[:2] = 0.0
0.6| {V:mid}[1:] = {V}[:2]
0.5| {V:mid=a}[{=a} > 0.5] = 0.0
0.4| {V:mid}[{maskV:raw}] = {num}
0.3| {V:mid}[{idx:raw}] = {V:raw}
0.3| {V:mid}[...] = {V:raw}
1| {M:mid}[0] = {V:raw}
0.6| {M:mid}[:, 1] = {V:raw}
0.5| {M:mid}[1, 2] = {num}
0.4| {M:mid}[1, 2] = {S:raw}
0.4| {M:mid}[:] = {M:raw}
0.4| {M:mid}[{maskM:raw}] = 0.0
0.7| {M:mid}[0] += {V:raw}
0.6| {V:mid}[1:] *= {num}
0.5| {V:mid}[0] += {S:raw}
0.4| {V:mid}[0].add_({S:raw})
0.4| {M:mid}[0].mul_({num})
0.3| {M:mid}.t().add_({M:raw})
0.3| {M:mid}.view(-1)[0] = {num}
0.3| {M:mid}[0][1] = {num}
0.2| {M:mid}.diagonal().fill_({num})
0.2| {M:mid}[:, 0].zero_()
0.3| {V:param}[0] = {num}
0.2| {M:param}[0].zero_()
0.2| {M:param}[0] += {V:raw}
0.3| {M:mid}.unbind()[0].add_({num})
0.3| {M:mid}.chunk(3)[0].mul_({num})
0.2| {V:mid}.split(1)[0].zero_()
0.2| {V:mid}.expand(3, 3).add_({num})
0.2| {S:mid}.expand(3).mul_({num})
""",
)

HIDDEN = rows(
    "hidden",
    """
1| {T:var}.data.add_({num})
0.6| {T:var}.data.mul_({num})
0.5| {T:var}.detach().add_({num})
0.4| {T:var}.detach().zero_()
0.3| {V:var}.data[0] = {num}
0.3| {T:var}.data.copy_({T:raw})
0.4| {T:var}.data = {T:raw}
0.2| {T:param}.data = torch.zeros({size})
0.5| {T:mid}.detach_()
0.3| {T:mid}.requires_grad_()
0.3| {T:var}.requires_grad_(False)
0.2| {T:var}.requires_grad = True
0.2| {T:var}.requires_grad = False
0.2| {T:mid}.retain_grad()
0.3| nn.init.zeros_({T:param})
0.2| nn.init.normal_({T:param})
0.2| nn.init.xavier_uniform_({M:param})
0.2| nn.init.constant_({T:var}, 0.5)
""",
) + rows(
    "number",
    """
0.6| {number:fresh} = {S:var}.item()
0.3| {number:fresh} = float({S:raw})
0.2| {number:fresh} = {V:var}.tolist()
0.4| print({S:var}.item())
0.2| print({T:var})
0.15| {number:fresh} = {V:var}.numpy()
0.3| {number:fresh} = {V:var}.detach().numpy()
0.15| {number:fresh} = {M:var}.detach().cpu().numpy()
0.1| {S:var}.item().backward()
0.1| float({S:var}).backward()
0.1| copy.deepcopy({T:var})
0.1| import math
""",
)

BACKWARD = rows(
    "backward",
    """
10| {S:graph}.backward()
2| {S:whole}.backward()
1| {S}.backward()
2.5| {S:graph}.backward(retain_graph=True)
0.6| {S:graph}.backward(create_graph=True)
0.2| {S:graph}.backward(retain_graph=False)
0.2| {S:graph}.backward(create_graph=True, retain_graph=False)
0.2| {S:graph}.backward(retain_graph={flag:raw})
2| {T:graph}.sum().backward()
1| {M:graph}.mean().backward()
1| ({M:graph} ** 2).sum().backward()
0.6| ({M:graph} * {M}).sum().backward()
0.5| {V:graph}.sum().backward(retain_graph=True)
0.5| {M:graph}.sum().backward(retain_graph=True)
0.6| {T:graph}.backward(torch.ones_like({T:graph}))
0.4| {V:graph=a}.backward(gradient=torch.ones_like({=a}))
0.2| {M:graph=a}.backward({=a}.detach(), retain_graph=True)
0.2| {V:graph}.backward()
0.15| {M:graph}.backward()
0.6| ({S:raw} + {S:raw}).backward()
0.3| ({S:graph} * {num}).backward()
0.3| (-{S:graph}).backward()
0.4| {S:graph}.backward(inputs=[{T:param}])
0.2| {S:graph}.backward(inputs={T:param}, retain_graph=True)
0.5| torch.autograd.backward({S:graph})
0.4| torch.autograd.backward([{S:raw}, {S:raw}])
0.2| torch.autograd.backward([{S:graph}], retain_graph=True)
0.2| torch.autograd.backward(({V:graph=a},), (torch.ones_like({=a}),))
0.3| {S:graph}.mean().backward()
""",
) + rows(
    "gradient",
    """
1| {T:fresh}, = torch.autograd.grad({S:raw}, {T:param})
0.7| {T:fresh} = torch.autograd.grad({S:graph}, {T:param})[0]
0.7| {T:fresh} = torch.autograd.grad({S:graph}, {T:param}, create_graph=True)[0]
0.5| ({T:fresh},) = torch.autograd.grad({S:raw}, [{T:param}], create_graph=True)
0.5| {T:fresh}, = torch.autograd.grad({S:graph}, {T:param}, retain_graph=True)
0.4| {T:fresh}, = torch.autograd.grad({S:graph}, {T:graph})
0.4| {V:fresh}, {M:fresh} = torch.autograd.grad({S:graph}, [{V:param}, {M:param}])
0.3| {V:fresh}, {M:fresh} = torch.autograd.grad({S:graph}, ({V:param}, {M:param}), retain_graph=True)
0.3| torch.autograd.grad({S:graph}, {T:param}, allow_unused=True)
0.2| torch.autograd.grad({V:graph=a}, {T:param}, grad_outputs=torch.ones_like({=a}))
0.2| torch.autograd.grad({V:graph}, {V:param})
0.2| torch.autograd.grad([{S:raw}, {S:raw}], [{T:param}], allow_unused=True, retain_graph=True)
1| {T:param=p}.grad = None
0.7| {T:param=p}.grad.zero_()
0.3| {T:fresh} = {T:param}.grad
0.3| {T:fresh} = {T:param}.grad.clone()
0.2| {T:param}.grad *= {num}
0.3| {T:param}.grad = torch.zeros({size})
0.2| {S:fresh} = {T:param}.grad.norm()
0.2| {T:param}.grad.data.zero_()
0.2| {T:param}.grad.detach_()
""",
)

UPDATE = rows(
    "update",
    """
1| {T:param=p}.data -= {lr} * {=p}.grad
0.5| {T:param=p}.data.add_({=p}.grad, alpha=-{lr})
0.4| {T:param=p}.data = {=p}.data - {lr} * {=p}.grad
0.4| {T:ownparam=p} = {=p} - {lr} * {=p}.grad
0.3| {T:ownparam=p} -= {lr} * {=p}.grad
0.3| {T:ownparam=p} = ({=p} - {lr} * {=p}.grad).detach().requires_grad_()
0.2| {T:param}.sub_({num})
""",
)

WORLD = rows(
    "world",
    """
0.3| torch.set_grad_enabled(<<True|False>>)
0.3| torch.set_grad_enabled(True)
0.1| torch.no_grad()
0.2| pass
0.1| assert {T:var} is not None
0.1| torch.manual_seed(0)
""",
) + paragraphs(
    "world",
    """
0.3| del {T:own=a}
@drop {=a}

0.3| {T:fresh=y} = {T:op}
{=y}.register_hook(lambda g: g<< * {num}|.clamp(-1, 1)>>)
""",
)

SIMPLE = (*CREATE, *ASSIGN, *INPLACE, *HIDDEN, *BACKWARD, *UPDATE, *WORLD)
