"""All that knows Claude Code: its command line, its login, its stream and its past sessions.

What it shares with other agents is in targets.
"""
