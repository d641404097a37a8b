"""One function per user action; the command line and the MCP server call the same ones.

Each takes values and returns a frozen dataclass that both front ends show. None prints.
"""
