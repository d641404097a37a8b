"""The command line: one file for each command, with its options and its text, and the documented exit codes.

What a command does lives in `commands`.
"""
