from dqn.agent import Agent
