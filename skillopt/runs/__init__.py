"""Recorded runs: planning one, driving it with ledger and git, and reading runs and versions back.

The training loop is in loop, and the user commands are in commands.
"""
