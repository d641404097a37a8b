"""Agents that are described by a table `[agents.NAME]` of skillopt.toml: what such a table says, and those shipped.

Running them is in agents, reading the rest of skillopt.toml in project.
"""
