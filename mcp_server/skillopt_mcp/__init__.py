"""The MCP server: accepted versions of skills as resources, and the training loop as tools.

Thin on purpose: every tool is one call into skillopt.actions, answered in Markdown.
"""
