"""Disposable workspaces, running programs in them with limits, and the bubblewrap sandbox for agents.

The command lines of agents and the reading of their output are in agents.
"""
