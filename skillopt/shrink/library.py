"""The listing budget of a project's library: what clients show of its skills, and shorter descriptions within it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import caps_of
from skillopt.execution.metering import Meter, OutOfBudget
from skillopt.execution.runner import RunObserver
from skillopt.forecast.estimate import Payment, payment_of
from skillopt.project import Project
from skillopt.reports.blocks import Table, cited
from skillopt.safety.plurals import count_noun
from skillopt.shrink.listing import CLIENTS, ListedSkill, Listing, ListingClient, list_skills
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import read_document
from skillopt.skills.frontmatter import listed_description, read_leniently
from skillopt.triggers.description import with_description
from skillopt.triggers.plan import TriggerAsk, TriggerPlan, expect_trainable, has_requests, plan_triggers
from skillopt.triggers.run import TrainedTriggers, train_triggers
from skillopt.triggers.shortening import MOST_SHORTENINGS

__all__ = ["Library", "LibraryReport", "read_library", "shorten_library"]


@dataclass(frozen=True, slots=True)
class LibraryReport:
    """What clients list of a library, as it is and with the shorter descriptions, and what came of each."""

    listings: tuple[Listing, ...]
    after: tuple[Listing, ...]
    shortened: tuple[TrainedTriggers, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """A row for each skill: the characters of its description, and what each client lists of it."""
        lengths = {name: length for one in self.listings for name, length in one.lengths.items()}
        new = {one.skill: str(len(one.description)) for one in self.shortened if one.commit}
        clients = [one.client for one in self.listings]
        columns = [f"{one.name.partition(',')[0].rpartition(' ')[0]}, {one.window // 1000}k" for one in clients]
        rows = [
            [cited(name), str(length), *(_shown(one, name) for one in self.listings), new.get(name, "-")]
            for name, length in sorted(lengths.items())
        ]
        return Table(("skill", "characters", *columns, "shortened to"), rows)

    @property
    def lines(self) -> Iterator[str]:
        """What each client does and needs, in words."""
        for before, after in zip(self.listings, self.after, strict=True):
            yield f"{before.client.name}: {before.client.rule}"
            yield f"  needed: {_needed(before)}"
            if after.lengths != before.lengths:
                yield f"  with the shorter descriptions: {_needed(after)}"


def _needed(one: Listing) -> str:
    cut, silent = len(one.shortened), len(one.silent)
    size = f"{one.needed:,} {one.client.unit}, the client's own skills included"
    return f"{size}; {len(one.lengths) - cut - silent} listed whole, {cut} in part, {silent} by name alone"


def _shown(one: Listing, name: str) -> str:
    if name not in one.lengths:
        return "hidden"
    whole = one.shown[name] == one.lengths[name]
    return "whole" if whole else str(one.shown[name]) if one.shown[name] else "name alone"


@dataclass(frozen=True, slots=True)
class Library:
    """The skills of a project, and those whose descriptions are to be shortened, the longest first."""

    project: Project
    documents: Mapping[str, SkillDocument]
    plans: tuple[TriggerPlan, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def listings(self) -> tuple[Listing, ...]:
        """What each client lists."""
        return tuple(list_skills(client, list(_entries(client, self.documents))) for client in CLIENTS)

    @property
    def fits(self) -> bool:
        """Whether each client lists all descriptions whole."""
        return not any(one.silent or one.shortened for one in self.listings)

    @property
    def report(self) -> LibraryReport:
        """The figures, before anything is run."""
        more = (f"nothing was run; {self.words}",) if self.plans else ()
        return LibraryReport(self.listings, self.listings, (), (*self.notes, *more))

    @property
    def words(self) -> str:
        """What is run at most to shorten descriptions."""
        sides = [(one.ask.repeats, *map(len, one.split)) for one in self.plans]
        runs = sum(repeats * ((1 + MOST_SHORTENINGS) * train + 2 * held_out) for repeats, train, held_out in sides)
        return f"{count_noun(len(sides), 'description')} can be tried, with at most {runs:,} runs of requests"

    @property
    def payment(self) -> Payment:
        """Whether that is paid for."""
        settings = [one.settings for one in self.plans]
        return payment_of(self.project.root, settings[0], [one.harness for one in settings])


def _entries(client: ListingClient, documents: Mapping[str, SkillDocument]) -> Iterator[ListedSkill]:
    """Yield skills as a client lists them; Claude Code adds `when_to_use`, and leaves out what only people call."""
    for name, document in documents.items():
        fields, text = read_leniently(document).fields, listed_description(document)
        usage, hidden = (fields.find(key) for key in ("when_to_use", "disable-model-invocation"))
        if client.whole and usage and isinstance(usage.value, str):
            text = f"{text} - {usage.value}"
        if not (client.whole and hidden and hidden.value is True):
            told = " ".join(text.split()).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            yield ListedSkill(name, told, f"r0/{name}/SKILL.md")


def read_library(names: Sequence[str], ask: TriggerAsk) -> Library:
    """Read the skills of a project; shortened are those that are named, else all, unless all descriptions fit."""
    project = ask.selection.project()
    found = {one.name: one.path for one in project.discover().skills}
    if not found:
        raise UsageError(f"expected skills to list, found {HOW_TO_BEGIN}")
    asked = {project.target(replace(ask.selection, name=name)).name for name in names} or set(found)
    if outside := sorted(asked - found.keys()):
        raise UsageError(f"expected skills of the project, found {outside[0]!r} outside of it; start in its project")
    documents, notes = _read_documents(project, found)
    library = Library(project, documents, notes=tuple(notes))
    if library.fits and not names:
        advice = "name a skill to shorten its description all the same"
        return replace(library, notes=(*notes, f"every client lists all descriptions whole; {advice}"))
    plans, without = list[TriggerPlan](), 0
    for name in sorted(asked & documents.keys(), key=lambda name: (-len(listed_description(documents[name])), name)):
        selection = replace(ask.selection, name=found[name], folder=project.root)
        try:
            plan = _plan(replace(ask, selection=selection, shorten=True))
            plans += [plan] if plan else []
            without += not plan
        except SkilloptError as error:
            if names:
                raise
            notes.append(f"{name}: {error}")
    if without:
        skills = f"{count_noun(without, 'skill')} without a trigger set"
        notes.append(f"figures only for {skills}; how to write one: skillopt docs triggers")
    return replace(library, plans=tuple(plans), notes=tuple(notes))


def _read_documents(project: Project, found: Mapping[str, str]) -> tuple[dict[str, SkillDocument], list[str]]:
    """Read each SKILL.md, and say of those that cannot be read why."""
    documents, notes = dict[str, SkillDocument](), list[str]()
    for name, path in found.items():
        try:
            documents[name] = read_document(project.root / path, project.root)
        except SkilloptError as error:
            notes.append(f"{name}: left out: {error}")
    return documents, notes


def _plan(ask: TriggerAsk) -> TriggerPlan | None:
    """Plan what can be shortened; None for a skill without a trigger set."""
    if not has_requests(ask.selection):
        return None
    plan = plan_triggers(ask)
    expect_trainable(plan)
    return plan


def shorten_library(library: Library, observer: RunObserver, *, named: bool) -> LibraryReport:
    """Shorten descriptions until each client lists all of them whole, or all that are named."""
    settings = library.project.settings(library.plans[0].ask.selection.flags)
    meter = Meter(replace(caps_of(settings), rollouts=settings.max_rollouts or 0))
    now, done, notes = library, list[TrainedTriggers](), list(library.notes)
    for plan in library.plans:
        if now.fits and not named:
            break
        try:
            done.append(train_triggers(plan.ask, observer=observer, allowance=meter))
        except OutOfBudget as error:
            notes.append(f"ended early, the same command goes on: {error}")
            break
        if done[-1].commit:
            document = with_description(now.documents[plan.skill.name], done[-1].description)
            now = replace(now, documents={**now.documents, plan.skill.name: document})
    return LibraryReport(library.listings, now.listings, tuple(done), tuple(notes))
