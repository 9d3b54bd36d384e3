"""What training code is given: loaders, models that return several things, helpers; a prologue that can be hidden."""

from __future__ import annotations

from .tables import paragraphs

GIVEN = paragraphs(
    "given",
    """
3| {loader:fresh=d} = [(torch.rand(3, 3), torch.rand(3, 3)) for _ in range(<<3|4>>)]
@do for {M:fresh=x}, {M:fresh=y} in {=d}:\\n    {block:3}
@do for {M:fresh=x}, {M:fresh=y} in {=d}:\\n\
    {S:fresh=l} = F.mse_loss({net:var}({=x}), {=y})\\n\
    {opt:var=o}.zero_grad()\\n\
    {=l}.backward(<<|||retain_graph=True>>)\\n\
    {=o}.step()
@do for {int:fresh=i}, ({M:fresh=x}, {M:fresh=y}) in enumerate({=d}):\\n\
    {M:fresh=o} = {net:var}({=x})\\n\
    {block:2}\\n\
    {S:fresh=l} = {crit:var}({=o}, {=y})\\n\
    {=l}.backward()\\n\
    {block:1}

1| {loader:fresh=d} = [torch.rand(3, 3) for _ in range(3)]
@do for {M:fresh=x} in {=d}:\\n    {block:3}
@do for {M:fresh=x} in {=d}:\\n\
    {S:fresh=l} = {net:var}({=x}).mean()\\n\
    {=l}.backward()\\n\
    {opt:var=o}.step()\\n\
    {=o}.zero_grad()

1| {loader:fresh=d} = [{{"x": torch.rand(3, 3), "y": torch.rand(3, 3)}} for _ in range(3)]
@do for {name:fresh=b} in {=d}:\\n\
    {S:fresh=l} = F.mse_loss({net:var}({=b}["x"]), {=b}["y"])\\n\
    {=l}.backward()\\n\
    {opt:var=o}.step()\\n\
    {=o}.zero_grad()
@do for {name:fresh=b} in {=d}:\\n    {M:fresh=x} = {=b}["x"]\\n    {block:3}

2| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.carry = nn.Linear(3, 3)

    def forward(self, x, state):
        state = torch.tanh(self.inner(x) + self.carry(state))
        return self.inner(state), state
{carrier:fresh=m} = {=C}()
@do {M:new}, {M:new} = {=m}({M:raw}, {M:raw})
@do {M:fresh=h} = torch.zeros(3, 3)\\n\
for {int:fresh} in range({n}):\\n\
    {M:fresh=o}, {=h} = {=m}({M:raw}, {=h})\\n\
    {S:fresh=l} = {=o}.pow(2).mean()\\n\
    ? {=h} = {=h}.detach()\\n\
    {=l}.backward(<<|||retain_graph=True>>)
@do {M:fresh=h} = {M:raw}\\n\
{S:fresh=l} = 0\\n\
for {int:fresh} in range(3):\\n\
    {M:fresh=o}, {=h} = {=m}({M:raw}, {=h})\\n\
    {=l} = {=l} + {=o}.mean()\\n\
    {block:1}\\n\
{=l}.backward()\\n\
? {=h}.sum().backward()

1| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 3)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)

    def forward(self, x):
        x = torch.relu(self.trunk(x))
        return self.first(x), self.second(x)
{heads:fresh=m} = {=C}()
@do {M:new=a}, {M:new=b} = {=m}({M:raw})
@do {M:fresh=a}, {M:fresh=b} = {=m}({M:raw})\\n\
{=a}.<<mean|sum|norm>>().backward(<<||retain_graph=True>>)\\n\
{=b}.<<mean|sum|norm>>().backward()

1| class {cls:fresh=C}(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x, y=None):
        out = torch.sigmoid(self.inner(x))
        return {{"out": out, "loss": F.mse_loss(out, x if y is None else y)}}
{teller:fresh=m} = {=C}()
@call M {=m}({M:raw})["out"]
@call S {=m}({M:raw}, {M:raw})["loss"]
@do {name:fresh=o} = {=m}({M:raw})\\n\
{=o}["loss"].backward(<<||retain_graph=True>>)\\n\
? {=o}["out"].sum().backward()

1| class {cls:fresh=C}:
    def __init__(self, net):
        self.net = net

    def loss(self, x):
        return self.net(x).pow(2).mean()

    def features(self, x):
        return self.net(x).tanh()
{obj:fresh=o} = {=C}({net:var})
@call S {=o}.loss({M:raw})
@call M {=o}.features({M:raw})
@do {=o}.loss({M:raw}).backward()

1| def {fn:fresh=f}(x):
    return x<< * 2|.exp()|.tanh()|.detach()|.clone()>>
@call M {=f}({M:raw})
@call V {=f}({V:raw})
@call S {=f}({S:raw})
@do {M:new} = {=f}({M:var})

1| def {fn:fresh=f}(model, x, y):
    return F.mse_loss(model(x), y)
@call S {=f}({net:var}, {M:raw}, {M:raw})
@do {=f}({net:var}, {M:raw}, {M:raw}).backward()

1| def {fn:fresh=f}(loss):
    return loss.<<item|detach>>()
@do {=f}({S:var})
@do {name:fresh} = {=f}({S:var})

0.7| def {fn:fresh=f}(x, y):
    return (x - y).pow(2).mean()
@call S {=f}({M:raw}, {M:raw})
@do {=f}({M:raw}, {M:raw}).backward()

0.7| def {fn:fresh=f}(model):
    for p in model.parameters():
        p.data.clamp_(-1, 1)
@do {=f}({net:var})

0.7| def {fn:fresh=f}(x):
    return x + 1, x.detach()
@do {M:new}, {M:new} = {=f}({M:raw})

0.7| {lstm:fresh} = nn.LSTM(3, 3)

0.5| {cell:fresh} = nn.<<RNNCell|GRUCell>>(3, 3)

0.7| {crit:fresh} = nn.<<MSELoss|L1Loss|SmoothL1Loss>>()

0.5| {flag:fresh} = <<True|False>>

0.5| {listM:fresh} = [torch.rand(3, 3), torch.rand(3, 3)]

0.4| {dictM:fresh} = {{"a": torch.rand(3, 3), "b": torch.rand(3, 3)}}

1| {net:fresh} = nn.Sequential(nn.Linear(3, 3), {layer}, nn.Linear(3, 3))
""",
)
