"""One run: planning it, driving it over the ledger and git, and reading back what runs left behind.

What the loop decides is in loop, and what a user asks for is in commands.
"""
