"""Coding agents, one folder each: command line, stream, harness, model and registration of our server.

How a rollout by an agent is scored and recorded is in execution.
"""
