"""All that knows Claude Code: its command line, its login, its stream and its past sessions."""
