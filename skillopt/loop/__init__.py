"""The training loop: the optimizer and its steps, from rollouts over patch tests and ablation to the gate.

It takes no files, clock or processes: rollouts and calls come through a Runner, which is in execution.
"""
