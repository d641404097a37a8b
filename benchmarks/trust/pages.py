"""Forged requests to the page that changes something; each must change nothing, and that of our own page must."""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.trust.projects import make_project
from benchmarks.trust.table import ClassResult, Found
from tools.page_attacks import FORGED, PageAttack, changed_by, put_candidates, served

__all__ = ["try_pages"]


def try_pages(*, quick: bool) -> Found:
    """Send each attack, then the request of our own page, which must be done."""
    failures, attacks = list[str](), FORGED[::4] if quick else FORGED
    with TemporaryDirectory(prefix="trust-pages-") as root:
        project = put_candidates(make_project(Path(root) / "project"))
        with served(project) as address:
            for attack in attacks:
                changed, status = changed_by(project, address, attack)
                refused = status >= 400 or attack.method == "GET"  # noqa: PLR2004 - from here on HTTP refuses
                if changed or not refused:
                    failures.append(f"pages: {attack.name}: answered {status}, changed something: {changed}")
            through = len(failures)
            honest, status = changed_by(project, address, PageAttack("our own page"))
            if not honest:
                failures.append(f"pages: our own page: answered {status}, changed nothing")
    row = ClassResult("pages that write", len(attacks), through, false_alarms=f"{int(not honest)} of 1")
    return (row,), failures
