"""A skill: its folder, its document, edits to it, what differs between two of them, and what makes one valid.

What a text may not carry is in safety, and versions in git are in versions.
"""
