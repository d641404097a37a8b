"""`python -m skillopt.contrib.tune SKILL` searches for settings that make training gain more."""

import sys
from collections.abc import Sequence

import typer

from skillopt.commands.entry import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the search and give the documented exit code."""
    try:
        from skillopt.contrib.tune.tune import tune
    except ImportError as error:  # an extra
        sys.stderr.write(f"expected Optuna, found none ({error}); install it: pip install 'PATH-OF-CLONE[tune]'\n")
        return 2
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(tune)
    return run(arguments, app)


if __name__ == "__main__":
    sys.exit(main())
