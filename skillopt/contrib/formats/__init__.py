"""Formats of task files of other tools: promptfoo and `claude plugin eval`."""
