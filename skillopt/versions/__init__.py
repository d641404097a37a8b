"""Accepted versions of a skill as git commits on a branch of its own, its draft on another, and all that runs git.

The wording of a version's commit message is in runs.
"""
