"""Nightly training of many skills: which are due, and when their pull requests are opened, updated or closed.

The forge that holds the pull requests is in forge, and the command itself in commands.
"""
