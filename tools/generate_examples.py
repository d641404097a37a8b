"""Generate docs/examples/pull-request.md from a real run with the built-in target; `--check` only compares.

python -m tools.generate_examples            train tidy-tables in a scratch folder, write the page
python -m tools.generate_examples --check    exit 1 when the page is out of date

Ids, commits and times differ from run to run, so names stand for them; all else comes out the same every time.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.demo import make_repository
from skillopt.commands.optimize import optimize
from skillopt.commands.report import report
from skillopt.project import Selection
from skillopt.reports.pull_request import pull_request_body, pull_request_title
from skillopt.reports.record import RunView

__all__ = ["main", "page"]

_PAGE = Path(__file__).resolve().parent.parent / "docs" / "examples" / "pull-request.md"
_SKILL = "tidy-tables"
_FLAGS = {"seed": 1, "epochs": 2}
_NOTE = """\
> Title and text of a pull request, made by `python -m tools.generate_examples`. Target and optimizer are the
> rule-following programs that are built in, not language models. Names stand for ids, commits and times."""


def page() -> str:
    """Train, and give the pull request's text with its title."""
    with tempfile.TemporaryDirectory(prefix="skillopt-example-") as scratch:
        folder = Path(scratch).resolve() / "repository"
        make_repository(folder)
        result = optimize(Selection(_SKILL, _FLAGS, folder=folder))
        view = _steady(report(result.run, folder=folder))
    return f"# {pull_request_title(view)}\n\n{_NOTE}\n\n{pull_request_body(view)}"


def _steady(view: RunView) -> RunView:
    """Put names in the place of what differs from run to run."""
    versions = tuple(replace(version, commit=f"COMMIT{version.number}") for version in view.versions)
    return replace(view, run="RUN", base="COMMIT0", started="", ended="", versions=versions)


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    made = page()
    if "--check" not in arguments:
        _PAGE.write_text(made, encoding="utf-8")
        return 0
    if _PAGE.exists() and _PAGE.read_text(encoding="utf-8") == made:
        return 0
    print(f"out of date: {_PAGE.name}; run `make docs`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
