"""The agent that runs on the allocated machine: run the command once, report how it ended once.

Everything is imported late on purpose: while the command runs, the agent is to cost little.
"""
