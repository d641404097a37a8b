"""Accepted versions of a skill as commits on a branch of its own, and everything that runs git.

What a version's message says of its run is in runs.
"""
