"""Candidates for tasks from past sessions of people with their agents, and from merged changes of a repository.

Reading git is in versions.
"""
