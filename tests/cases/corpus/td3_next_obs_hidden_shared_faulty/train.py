import numpy as np

from agent import RecurrentTD3
from buffer import SequenceBuffer

agent, buffer = RecurrentTD3(3, 1), SequenceBuffer(20, 5, 3, 1)
for _ in range(10):
    buffer.store(np.random.randn(6, 3), np.random.uniform(-1, 1, (5, 1)), np.random.randn(5, 1))
for step in range(5):
    print(agent.update(buffer.sample(4)))
