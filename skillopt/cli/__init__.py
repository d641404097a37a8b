"""The command line: arguments in, results on stdout, progress on stderr, documented exit codes."""

from skillopt.cli.entry import main, run

__all__ = ["main", "run"]
