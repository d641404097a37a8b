"""All that knows Codex: its command line, its login, its stream and its past sessions."""
