from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn


class LSTMState(NamedTuple):
    hx: Tensor
    cx: Tensor

    def detach(self) -> LSTMState:
        return LSTMState(self.hx.detach(), self.cx.detach())


class Runner:
    __slots__ = ("cell", "out", "state", "opt", "steps")

    def __init__(self, n_in: int, n_hid: int) -> None:
        self.cell = nn.LSTMCell(n_in, n_hid)
        self.out = nn.Linear(n_hid, n_in)
        self.state: Optional[LSTMState] = None
        self.opt = torch.optim.Adam([*self.cell.parameters(), *self.out.parameters()])
        self.steps = 0

    def _initial(self, batch: int) -> LSTMState:
        z = torch.zeros(batch, self.cell.hidden_size)
        return LSTMState(z, z)

    def step(self, x: Tensor) -> Tensor:
        if (state := self.state) is None:
            state = self._initial(x.size(0))
        self.state = LSTMState(*self.cell(x, state))
        self.steps += 1
        return self.out(self.state.hx)

    def run(self, stream: Tensor, bptt: int) -> None:
        window = []
        for t in range(len(stream) - 1):
            window.append((self.step(stream[t]) - stream[t + 1]).pow(2).mean())
            if len(window) == bptt:
                loss = torch.stack(window).mean()
                self.opt.zero_grad()
                loss.backward()  # error: [carried-graph] # raises: RuntimeError "through the graph a second time"
                self.opt.step()
                window.clear()


Runner(3, 6).run(torch.randn(20, 2, 3), bptt=4)
