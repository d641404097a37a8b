"""Title, text and page of what is offered from a branch, made of git, the ledger and what is measured for it."""

from contextlib import suppress
from dataclasses import dataclass

from skillopt.errors import SkilloptError
from skillopt.nightly.offer_claims import Claimed, ClaimSources, claim
from skillopt.nightly.offered import OfferPlace, read_line, read_offered
from skillopt.reports.before_after import BeforeAfter, before_after_page
from skillopt.reports.load_view import load_inspected_view
from skillopt.reports.offer_text import offer_body, offer_mark, offer_title
from skillopt.reports.offer_view import OfferView
from skillopt.reports.view import RunView
from skillopt.versions.edit_history import EditLine

__all__ = ["WrittenOffer", "write_offer"]


@dataclass(frozen=True, slots=True)
class WrittenOffer:
    """What a pull request says."""

    view: OfferView
    title: str
    body: str
    mark: str
    page: str


def write_offer(sources: ClaimSources, place: OfferPlace) -> WrittenOffer:
    """Write what is offered down, measuring it where no run says what it would claim."""
    line = read_line(place)
    views = _views(sources, line)
    found = claim(sources, place, read_offered(place, line, views), views)
    return WrittenOffer(
        found.view, offer_title(found.view), offer_body(found.view), offer_mark(found.view), _page(sources, found)
    )


def _views(sources: ClaimSources, line: EditLine) -> dict[str, RunView]:
    """Read what the ledger has of the runs behind the versions, by id."""
    names = dict.fromkeys(version.trailer("Skillopt-Run") for version in line.versions)
    found: dict[str, RunView] = {}
    for name in names:
        if run := sources.ledger.find_run(name):
            with suppress(SkilloptError):
                found[name] = load_inspected_view(sources.project, sources.ledger, run)
    return found


def _page(sources: ClaimSources, found: Claimed) -> str:
    """Render the tasks that went differently; empty where none were run for this very text."""
    view, claimed = found.view, found.view.claim
    if claimed is None or not claimed.fresh:
        return ""
    suite = sources.target.suite_path.name if sources.target.suite_path else ""
    headline = f"{claimed.headline.words}; {claimed.shown}."
    return before_after_page(
        BeforeAfter(view.skill, view.into, view.branch, suite, headline, found.measured, found.changed)
    )
