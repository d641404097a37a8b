"""The command `nightly`, in three steps of which only the first and the last may have a token of the forge.

`check` asks the forge and writes down what it says; `train` runs models, agents and verifiers; `offer` pushes branches
and posts pull requests. A night has no state of its own: what is left to do is read from git, the ledger and the forge,
so running it again continues.
"""
