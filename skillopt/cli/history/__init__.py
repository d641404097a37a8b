"""The commands about accepted versions and drafts, one file each: options, and the result as text.

What they do is in commands.history.
"""
