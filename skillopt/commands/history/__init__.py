"""The actions on accepted versions and drafts: read them, compare them, take them, go back.

Making versions is in the actions beside this package.
"""
