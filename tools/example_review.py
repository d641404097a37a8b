"""The examples of a night, its pull request and report: what `make demo-review` shows.

Owns which names stand for ids, commits, times and folders. Does not own the story (benchmarks.review_demo).
"""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.review_demo import Step, make_remote, run, tell
from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_view
from skillopt.reports.rollouts import read_rollouts
from skillopt.reports.run_report import render_page
from skillopt.storage.ledger import Ledger

_NIGHT = """\
# A night

> Made by `python -m tools.generate_examples` from `make demo-review`. All is offline: no forge, so the pull request is
> a file; target and optimizer are rule-following programs, not language models; the provider that is broken is a port
> on which nobody listens. Names stand for ids, commits, dates and folders.
"""
_OFFERED = """\
> Title and text of a pull request, made by `python -m tools.generate_examples` from `make demo-review`. Target and
> optimizer are rule-following programs, not language models. Names stand for ids, commits and times."""
_AT, _END = "2026-11-01T02:00:00+00:00", "2026-11-01T02:00:05+00:00"
_RUN_ID = 12  # characters


def make_review(folder: Path) -> dict[str, str]:
    """Live through the story and give its pages by name."""
    clone = make_remote(folder)
    story = tell(clone)
    first = next(story)
    offered = clone / ".skillopt" / "pull-requests" / "skillopt-tidy-tables.md"
    title, _, body = offered.read_text(encoding="utf-8").partition("\n")
    report = _report(clone)
    steps = [(step.told, _shown(step)) for step in (first, *story)]
    night = "\n".join([_NIGHT, *(f"{told}\n\n{shown}" for told, shown in steps)])
    pages = {"nightly.md": night, "pull-request.md": f"{title}\n\n{_OFFERED}\n{body}"}
    return {name: _steady(page, clone) for name, page in pages.items()} | {"report.html": report}


def _report(clone: Path) -> str:
    """Render the page of the night's run with fixed times and without commits, which hold a time."""
    with closing(Ledger.open(clone, read_only=True)) as ledger:
        view = load_view(Project.find(clone), ledger, find_run(ledger, "tidy-tables"))
        versions = tuple(replace(version, commit="") for version in view.versions)
        fixed = replace(view, started=_AT, ended=_END, base="", versions=versions)
        page = render_page(fixed, read_rollouts(ledger, fixed, most=16))
    return page.replace(view.run, "0123456789ab") + "\n"


def _shown(step: Step) -> str:
    """Show a step as a terminal would."""
    status = f"$ echo $?\n{step.status}\n" if step.command.startswith("skillopt") else ""
    return f"```console\n$ {step.command}\n{step.printed}{status}```\n"


def _steady(text: str, clone: Path) -> str:
    """Put names in the place of what differs from run to run."""
    commits, seen = run(clone, "git rev-list --all").printed.split(), dict[str, str]()

    def name(found: re.Match[str]) -> str:
        commit = next((commit for commit in commits if commit.startswith(found[0])), "")
        if not commit:
            return "RUN" if len(found[0]) == _RUN_ID else found[0]
        return seen.setdefault(commit, f"COMMIT{len(seen) + 1}")

    text = re.sub(r"(?<=skillopt offer: )[0-9a-f]+", "MARK", text)
    named = re.sub(r"\b[0-9a-f]{7,40}\b", name, text.replace(str(clone), "~/skills"))
    return re.sub(
        r"\[Errno \d+\] |(?<=RUN</code>, )\d{4}-\d\d-\d\d", lambda found: "" if "E" in found[0] else "DATE", named
    )
