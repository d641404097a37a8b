"""The command line, one file per command: arguments in, results on stdout, progress on stderr, exit codes."""
