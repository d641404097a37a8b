"""Disposable workspaces, the programs that run in them, and bubblewrap around both.

What agents are told and how they are read is in agents.
"""
