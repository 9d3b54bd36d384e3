"""Models, optimizers, and the idioms of training code, right and wrong."""

from __future__ import annotations

from .tables import paragraphs

MODELS = paragraphs(
    "model",
    """
3| {linear:fresh=m} = nn.Linear(3, 3<<||, bias=False>>)
@name M {=m}.weight param

2| {net:fresh=m} = nn.Sequential({layer}, {layer})
? {=m}.<<eval|train>>()

2| {net:fresh=m} = nn.Sequential(nn.Linear(3, 3), {layer}, nn.Linear(3, 3))

0.5| {net:fresh=m} = nn.Sequential(nn.Linear(3, 3), nn.ReLU(<<|inplace=True>>), nn.Dropout(0.5<<|, inplace=True>>))

1| {cell:fresh} = nn.<<RNNCell|GRUCell>>(3, 3)

0.5| {lstmcell:fresh} = nn.LSTMCell(3, 3)

0.5| {rnn:fresh} = nn.<<GRU|RNN>>(3, 3)

0.5| {lstm:fresh} = nn.LSTM(3, 3)

0.6| {crit:fresh} = nn.<<MSELoss|L1Loss|SmoothL1Loss|HuberLoss>>()

0.2| {net:fresh=m} = nn.TransformerEncoderLayer(3, 1, dim_feedforward=4)

0.2| attention = nn.MultiheadAttention(3, 1)
{M:fresh=a}, _ = attention({M:raw}, {M:raw}, {M:raw})

0.3| embedding = nn.Embedding(3, 3)
{M:fresh} = embedding({idx:raw})
@call M embedding({idx:raw})
@name M embedding.weight param

0.4| {net:var}.<<train|eval>>()

0.3| {net:var}.requires_grad_(<<True|False>>)

0.3| for p in {linear:var}.parameters():
    p.<<requires_grad = False|requires_grad_(False)|requires_grad_(True)|grad = None>>

0.3| {net:var}.zero_grad()

0.2| {net:fresh} = copy.deepcopy({net:var})

0.2| {linear:var=a}.load_state_dict({=a}.state_dict())

0.2| nn.utils.clip_grad_norm_({net:var}.parameters(), 1.0)

0.2| {linear:var=m}.weight.data<<.mul_(0.5)| = torch.rand(3, 3)|.zero_()>>

0.2| with torch.no_grad():
    {linear:var}.weight.<<mul_|add_>>({num})
""",
)

OPTIMIZERS = paragraphs(
    "optimizer",
    """
2| {opt:fresh=o} = torch.optim.SGD({net:var}.parameters(), lr={lr}<<||, momentum=0.9|, weight_decay=0.1>>)

1.5| {opt:fresh=o} = torch.optim.SGD({linear:var}.parameters(), lr={lr})

2| {opt:fresh=o} = torch.optim.SGD([{M:param}, {V:param}], lr={lr})

1| {opt:fresh=o} = torch.optim.<<Adam|AdamW|RMSprop|Adagrad>>({net:var}.parameters(), lr={lr})

0.7| {opt:fresh=o} = torch.optim.Adam([{T:param}])

0.4| {opt:fresh=o} = torch.optim.SGD([{{"params": {net:var}.parameters()}}, {{"params": [{M:param}]}}], lr={lr})

0.3| {opt:fresh=o} = torch.optim.SGD(list({net:var}.parameters()) + list({linear:var}.parameters()), lr={lr})

3| {opt:var}.step()

2| {opt:var}.zero_grad(<<||set_to_none=False|set_to_none=True>>)

2| {opt:var=o}.zero_grad()
{S:graph}.backward()
{=o}.step()

1| {S:new=l} = {S:op}
{opt:var=o}.zero_grad()
{=l}.backward(<<||retain_graph=True>>)
{=o}.step()

0.3| {opt:var}.param_groups[0]["lr"] = {lr}

0.3| {opt:var}.add_param_group({{"params": [{T:param}]}})

0.3| scheduler = torch.optim.lr_scheduler.StepLR({opt:var=o}, 1)
{=o}.step()
scheduler.step()

0.3| def closure():
    {opt:var=o}.zero_grad()
    {S:fresh=l} = {S:op}
    {=l}.backward()
    return {=l}
{=o}.step(closure)

0.3| for group in {opt:var}.param_groups:
    for p in group["params"]:
        if p.grad is not None:
            p.<<data.add_(p.grad, alpha=-0.1)|grad.clamp_(-1, 1)|grad = None|grad.zero_()>>
""",
)

IDIOMS = paragraphs(
    "idiom",
    """
3| @let {opt:var=o}
+for {int:fresh=i} in range({n}):
    {=o}.zero_grad()
    {M:fresh=out} = {net:var}({M:raw})
    {S:fresh=l} = F.mse_loss({=out}, {M:raw})
    <<pass|{block:1}>>
    {=l}.backward(<<|||retain_graph=True>>)
    {=o}.step()

2| {opt:fresh=o} = torch.optim.<<SGD|Adam>>({net:var=m}.parameters(), lr={lr})
+for {int:fresh=i} in range({n}):
    {S:fresh=l} = {=m}({M:raw}).<<sum|mean>>()
    <<{=l}.backward()|{=l}.backward(retain_graph=True)|{block:1}>>
    <<{=o}.step()|{block:1}>>
    ? {=o}.zero_grad()

2| {M:fresh=h} = torch.zeros(3, 3)
+for {int:fresh} in range({n}):
    {=h} = {cell:var}({M:raw}, {=h}<<|.detach()|.data|.clone()>>)
    {S:new=l} = {=h}.<<sum|mean>>()
    {=l}.backward(<<|||retain_graph=True>>)
    ? {=h} = {=h}.detach()
    ? {opt:var}.step()

1.5| {name:fresh=s} = None
+for {int:fresh} in range({n}):
    {M:fresh=o}, {=s} = {lstm:var}({M:raw}, {=s})
    {=o}.sum().backward(<<||retain_graph=True>>)
    ? {=s} = tuple(t.detach() for t in {=s})
    ? {=s} = ({=s}[0].detach(), {=s}[1].detach())

1| {M:fresh=h}, {M:fresh=c} = torch.zeros(3, 3), torch.zeros(3, 3)
+for {int:fresh} in range({n}):
    {=h}, {=c} = {lstmcell:var}({M:raw}, ({=h}, {=c}<<|.detach()>>))
    ? {=h} = {=h}.detach()
    ? {=h}, {=c} = {=h}.detach(), {=c}.detach()
    {=h}.<<sum|mean>>().backward(<<||retain_graph=True>>)

1| {name:fresh=h} = <<None|torch.zeros(1, 3)>>
+for {int:fresh} in range({n}):
    {M:fresh=o}, {=h} = {rnn:var}({M:raw}, {=h})
    {=h} = {=h}<<.detach()||.data|.clone()>>
    {=o}.sum().backward()

2| {S:fresh=t} = 0.0
+for {int:fresh} in range({n}):
    {S:fresh=l} = {S:op}
    {=t} <<+= |= {=t} + >>{=l}<<||.item()|.detach()>>
    <<{=l}|{=t}|{=l}|({=l} * 2)>>.backward(<<||retain_graph=True>>)

1| {S:fresh=t} = 0
+for {int:fresh} in range({n}):
    {=t} <<+= |= {=t} + >>{S:op}
{=t}.backward()
? {=t}.backward()

1.5| {opt:fresh=d} = torch.optim.SGD({net:var=D}.parameters(), lr={lr})
{opt:fresh=g} = torch.optim.SGD({linear:var=G}.parameters(), lr={lr})
+for {int:fresh} in range({n}):
    {M:fresh=f} = {=G}({M:raw})
    {=d}.zero_grad()
    {S:fresh=dl} = {=D}({M:raw}).mean() - {=D}({=f}<<|.detach()>>).mean()
    {=dl}.backward(<<||retain_graph=True>>)
    <<{=d}.step()|pass>>
    {=g}.zero_grad()
    {S:fresh=gl} = -{=D}({=f}).mean()
    ? {=d}.step()
    {=gl}.backward()
    {=g}.step()

2| +for {int:fresh} in range({n}):
    {S:fresh=l} = ({M:ownparam=w} <<* {M}|** 2|@ {M}|+ {M}>>).sum()
    {=l}.backward()
    with torch.no_grad():
        {=w} <<-= |-= |= {=w} - >>{lr} * {=w}.grad
        <<{=w}.grad = None|{=w}.grad.zero_()|pass>>

1| +for {int:fresh} in range({n}):
    {S:fresh=l} = ({V:ownparam=w} <<* {V}|** 2|+ {V}>>).sum()
    {=l}.backward()
    {=w}<<.data -= | -= | = {=w} - |.data = {=w}.data - >>{lr} * {=w}.grad
    <<{=w}.grad = None|{=w}.grad.zero_()|pass>>

1| +for {int:fresh} in range({n}):
    {S:fresh=l} = F.mse_loss({linear:var=m}({M:raw}), {M:raw})
    {=m}.zero_grad()
    {=l}.backward()
    with torch.no_grad():
        for p in {=m}.parameters():
            <<p -= {lr} * p.grad|p.sub_({lr} * p.grad)|p.data -= {lr} * p.grad|p.add_(p.grad, alpha=-{lr})>>

0.8| {M:fresh=g}, = torch.autograd.grad({S:raw}, {M:param=w}<<|, create_graph=True|, retain_graph=True>>)
{S:new=l} = {S:raw} + 10 * ({=g}.norm() - 1) ** 2
{=l}.backward()

0.8| {M:fresh=fast} = {M:param=w} - {lr} * torch.autograd.grad(({=w} ** 2).sum(), {=w}<<|, create_graph=True>>)[0]
{S:new=l} = ({=fast} ** 2).sum()
{=l}.backward()

0.8| {opt:var=o}.zero_grad()
+for {int:fresh=i} in range({n}):
    {S:fresh=l} = {S:op}
    {=l}.backward(<<|||retain_graph=True>>)
    if ({=i} + 1) % 2 == 0:
        {=o}.step()
        {=o}.zero_grad()

0.8| {M:fresh=buf} = torch.<<zeros|ones>>(3, 3)
+for {int:fresh=t} in range(<<2|3>>):
    {=buf}[{=t}] = <<{V:op}|{V:op}|{=buf}[{=t}] * {V}|{=buf}[{=t} - 1].clone() * {V}|{=buf}[0].exp()>>
{=buf}.sum().backward()

0.6| {M:fresh=run} = torch.zeros(3, 3)
+for {int:fresh} in range({n}):
    {=run} <<= 0.9 * {=run} + 0.1 * |+= |= {=run} + >>{M}<<|.detach()>>
    ? {S:new=l} = ({=run} * {M}).sum()
    ? {=run}.sum().backward()

0.8| {M:fresh=ema} = {M:param=w}.<<clone()|detach().clone()|data|detach()>>
+for {int:fresh} in range({n}):
    {S:fresh=l} = ({=w} * {=ema}).sum()
    {=l}.backward(<<||retain_graph=True>>)
    with torch.no_grad():
        <<{=ema}.mul_(0.9).add_(0.1 * {=w})|{=ema}.copy_({=w})|{=w} <<-= >>0.1 * {=w}.grad>>

0.7| {listS:fresh=ls} = []
{listM:fresh=outs} = []
+for {int:fresh=i} in range(3):
    {M:fresh=o} = {net:var}({M:raw})
    {=outs}.append({=o})
    {=ls}.append({=o}.pow(2).mean() * {=i})
sum({=ls}).backward(<<||retain_graph=True>>)
? {=outs}[-1].sum().backward()
? torch.stack({=ls}).sum().backward()

0.7| {listS:fresh=logs} = []
{listS:fresh=vals} = []
+for {int:fresh} in range(2):
    {V:fresh=p} = F.log_softmax({V:op}, dim=0)
    {=logs}.append({=p}[0])
    {=vals}.append({S:op})
{S:fresh=adv} = torch.stack({=vals}) - 0.5
{S:new=pl} = -(torch.stack({=logs}) * {=adv}<<|.detach()>>).sum()
{=pl}.backward(<<||retain_graph=True>>)
{=adv}.pow(2).sum().backward()

0.6| from torch.utils.checkpoint import checkpoint
{M:new=o} = checkpoint({net:var}, {M:raw}, use_reentrant=False)
{=o}.sum().backward()
? {=o}.mean().backward()

0.4| scaler = torch.amp.GradScaler("cpu")
{S:fresh=l} = {S:op}
scaler.scale({=l}).backward()
? {=l}.backward()

0.6| def train_step({M:arg=x}, {M:arg=y}):
    {opt:var=o}.zero_grad()
    {S:fresh=l} = F.mse_loss({net:var}({=x}), {=y})
    {=l}.backward()
    {=o}.step()
    return {=l}<<|.item()|.detach()>>
for {int:fresh} in range({n}):
    train_step({M:raw}, {M:raw})

0.6| @let {opt:var=o}
for epoch in range({n}):
    for {M:fresh=x}, {M:fresh=y} in [({M:raw}, {M:raw}), ({M:raw}, {M:raw})]:
        {S:fresh=l} = F.mse_loss({net:var}({=x}), {=y})
        {=o}.zero_grad()
        {=l}.backward()
        {=o}.step()
        <<pass|{block:1}>>
    <<pass|{block:1}|{=o}.param_groups[0]["lr"] *= 0.5>>

0.5| {M:fresh=xa} = {M}.<<clone|detach>>().requires_grad_()
+for {int:fresh} in range({n}):
    {S:fresh=l} = {net:var}({=xa}).sum()
    {M:fresh=g} = torch.autograd.grad({=l}, {=xa})[0]
    {=xa} = <<({=xa} + 0.1 * {=g}.sign()).detach().requires_grad_()|{=xa} + 0.1 * {=g}.sign()|{=xa} + 0.1 * {=g}>>

0.5| {M:fresh=e} = {net:var}({M:raw})
{S:fresh=l1} = {=e}.<<sum|mean>>()
{S:fresh=l2} = ({=e} <<** 2|* {M}|+ 1>>).mean()
{=l1}.backward(<<||retain_graph=True>>)
? {opt:var}.step()
{=l2}.backward()
""",
)

TRAINING = (*MODELS, *OPTIMIZERS, *IDIOMS)
