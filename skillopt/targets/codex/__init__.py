"""All that knows Codex: its command line, its stream, and where it registers servers.

What it shares with other agents is in agents.
"""
