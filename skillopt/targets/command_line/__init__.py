"""Agents that a table of skillopt.toml describes: running their command line, and reading what it prints."""
