"""Past sessions of people with their agents as candidates for tasks: requests, corrections, near copies, redaction.

Pure. Where sessions lie and how a client writes them is in agents; reading git and writing files is in commands.
"""
