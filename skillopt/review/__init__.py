"""The gate for changes that people make to a skill, and finding the version that broke a task.

Reading two revisions from git is in versions and runs.
"""
