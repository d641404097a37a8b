"""Disposable workspaces, running programs in them with limits, and the bubblewrap sandbox for agents."""
