"""Generate docs/examples/ from real runs with the built-in target; `--check` only compares.

python -m tools.generate_examples            train in scratch folders, write the pages
python -m tools.generate_examples --check    exit 1 when a page is out of date

Ids, commits and times differ from run to run, so names stand for them; all else comes out the same every time.
The sessions of agents are not made here (`make transcripts`).
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.demo import make_repository
from skillopt.commands.optimize import optimize
from skillopt.commands.report import report
from skillopt.project import Selection
from skillopt.reports.pull_request import pull_request_body, pull_request_title
from skillopt.reports.view import RunView
from tools.example_demo import make_demo
from tools.example_prompt import make_prompt
from tools.example_report import make_report
from tools.example_review import make_review

__all__ = ["EXAMPLES", "MAKERS", "main", "make_pull_request"]

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "docs" / "examples"
_SKILL = "tidy-tables"
_FLAGS = {"seed": 1, "epochs": 2}
_NOTE = """\
> Title and text of a pull request, made by `python -m tools.generate_examples`. Target and optimizer are the
> rule-following programs that are built in, not language models. Names stand for ids, commits and times."""


def make_pull_request(folder: Path) -> dict[str, str]:
    """Train, and give the pull request's text with its title, by the name of the page.

    Args:
        folder: An empty one.
    """
    make_repository(folder)
    result = optimize(Selection(_SKILL, _FLAGS, folder=folder))
    view = _steady(report(result.run, folder=folder))
    return {"pull-request.md": f"# {pull_request_title(view)}\n\n{_NOTE}\n\n{pull_request_body(view)}"}


MAKERS: Final[Mapping[str, Callable[[Path], dict[str, str]]]] = {
    "demo": make_demo,
    "prompt": make_prompt,
    "pull request": make_pull_request,
    "report": make_report,
    "review": make_review,
}
"""What makes pages in an empty folder; each run serves one or more of them."""


def _steady(view: RunView) -> RunView:
    """Put names in the place of what differs from run to run."""
    versions = tuple(replace(version, commit=f"COMMIT{version.number}") for version in view.versions)
    return replace(view, run="RUN", base="COMMIT0", started="", ended="", versions=versions)


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    stale = []
    for make in MAKERS.values():
        with tempfile.TemporaryDirectory(prefix="skillopt-example-") as scratch:
            made = make(Path(scratch).resolve() / "repository")
        for name, page in made.items():
            path = EXAMPLES / name
            if path.exists() and path.read_text(encoding="utf-8") == page:
                continue
            if "--check" in arguments:
                stale.append(name)
            else:
                path.write_text(page, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
