"""The commands that show runs, one file each: options, and the result as text.

What they do is in commands, what they show in the package reports.
"""
