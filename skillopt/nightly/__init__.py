"""Nightly training of many skills: which are due, what is offered of them, and the forges that hold pull requests.

A night is three steps, of which only `check` and `offer` may have a token of the forge. It has no state of its own:
what is left to do is read from git, the ledger and the forge, so running it again continues.
"""
