"""User actions, one file each: the command line and the MCP server call the same functions, which print nothing.

Options and text output are in cli.
"""
