"""Candidates for tasks from past sessions of people with their agents, and from merged changes of a repository.

Where sessions lie and how a client writes them is in agents; reading git is in versions.
"""
