"""Generate docs/examples/ from real runs with the built-in target; `--check` only compares.

python -m tools.generate_examples            train in scratch folders, write the pages
python -m tools.generate_examples --check    exit 1 when a page is out of date

Ids, commits and times differ from run to run, so names stand for them; all else comes out the same every time.
The sessions of agents are not made here (`make transcripts`).
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from benchmarks.demo.__main__ import make_repository
from skillopt.execution.runner import RunObserver
from skillopt.nightly.offer_texts import ClaimSources, OfferPlace, WrittenOffer, write_offer
from skillopt.project import Project, Selection
from skillopt.runs.training import optimize
from skillopt.storage.ledger import Ledger
from tools.example_demo import make_demo
from tools.example_prompt import make_prompt
from tools.example_report import make_report
from tools.example_review import make_review
from tools.example_tool_mistakes import make_tool_mistakes

__all__ = ["EXAMPLES", "MAKERS", "main", "make_pull_request"]

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "docs" / "examples"
_SKILL = "tidy-tables"
_FLAGS = {"seed": 1}
_NOTE = """\
> Title and text of a pull request, made by `python -m tools.generate_examples`. Target and optimizer are the
> rule-following programs that are built in, not language models. Names stand for ids, commits and times."""


def make_pull_request(folder: Path) -> dict[str, str]:
    """Train, and give the pull request's text with its title, by the name of the page."""
    make_repository(folder)
    optimize(Selection(_SKILL, _FLAGS, folder=folder))
    project = Project.find(folder)
    repository, target = project.repository(), project.target(Selection(_SKILL, _FLAGS, folder=folder))
    tip, base = repository.branch_tip(_SKILL) or "", repository.head() or ""
    path = repository.relative(target.folder)
    place = OfferPlace(repository, _SKILL, path, f"skillopt/{_SKILL}", tip, "main", base)
    with closing(Ledger.open(folder)) as ledger:
        written = write_offer(ClaimSources(project, target, ledger, RunObserver()), place)
    return {"pull-request.md": f"# {written.title}\n\n{_NOTE}\n\n{_steady(written)}"}


MAKERS: Final[Mapping[str, Callable[[Path], dict[str, str]]]] = {
    "demo": make_demo,
    "prompt": make_prompt,
    "tool-mistakes": make_tool_mistakes,
    "pull request": make_pull_request,
    "report": make_report,
    "review": make_review,
}
"""What makes pages in an empty folder; each run serves one or more of them."""


def _steady(written: WrittenOffer) -> str:
    """Put names in the place of what differs from run to run."""
    view = written.view
    commits = [view.base, *(version.commit for version in view.versions)]
    body = written.body.replace(written.mark, "<!-- skillopt offer: MARK -->")
    for number, commit in enumerate(commits):
        for digits in (len(commit), 12, 10):
            body = body.replace(commit[:digits], f"COMMIT{number}")
    return body.replace(view.versions[-1].run, "RUN")


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
