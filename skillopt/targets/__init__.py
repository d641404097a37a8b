"""Targets and models: agents, chat, hand-off and the providers of models, imported on use by name.

How a rollout is scored and recorded is in execution.
"""
