"""The listing budget of a project's library: what clients show of its skills, and shorter descriptions within it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.commands.spending import Payment, payment_of
from skillopt.contrib.triggers.description import with_description
from skillopt.contrib.triggers.listing import CLIENTS, ListedSkill, Listing, ListingClient, list_skills
from skillopt.contrib.triggers.plan import TriggerAsk, TriggerPlan, expect_trainable, has_requests, plan_triggers
from skillopt.contrib.triggers.run import TrainedTriggers, train_triggers
from skillopt.contrib.triggers.shortening import MOST_SHORTENINGS
from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.drivers import caps_of
from skillopt.execution.metering import Meter, OutOfBudget
from skillopt.execution.runner import RunObserver
from skillopt.project import Project
from skillopt.reports.markdown import cited, write_table
from skillopt.safety.escaping import count_noun
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import read_document
from skillopt.skills.frontmatter import listed_description, read_leniently


@dataclass(frozen=True, slots=True)
class LibraryReport:
    """What clients list of a library, as it is and with the shorter descriptions, and what came of each."""

    listings: tuple[Listing, ...]
    after: tuple[Listing, ...]
    shortened: tuple[TrainedTriggers, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """A row for each skill: the characters of its description, and what each client lists of it."""
        lengths = {name: length for one in self.listings for name, length in one.lengths.items()}
        new = {one.skill: str(len(one.description)) for one in self.shortened if one.commit}
        clients = [one.client for one in self.listings]
        columns = [f"{one.name.partition(',')[0].rpartition(' ')[0]}, {one.window // 1000}k" for one in clients]
        rows = [
            [cited(name), str(length), *(_shown(one, name) for one in self.listings), new.get(name, "-")]
            for name, length in sorted(lengths.items())
        ]
        return write_table(("skill", "characters", *columns, "shortened to"), rows)

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
        return "not listed"
    whole = one.shown[name] == one.lengths[name]
    return "whole" if whole else str(one.shown[name]) if one.shown[name] else "name alone"


@dataclass(frozen=True, slots=True)
class Library:
    """The skills of a project as clients list them, and the descriptions to shorten, the longest first."""

    project: Project
    texts: Mapping[str, tuple[str | None, str | None]]
    plans: tuple[TriggerPlan, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def listings(self) -> tuple[Listing, ...]:
        """What each client lists."""
        return tuple(list_skills(client, list(self._entries(client))) for client in CLIENTS)

    def _entries(self, client: ListingClient) -> Iterator[ListedSkill]:
        for name, (codex, claude) in self.texts.items():
            text = claude if client.whole else codex
            if text is not None:
                yield ListedSkill(name, text, f"r0/{name}/SKILL.md")

    @property
    def fits(self) -> bool:
        """Whether each client lists all descriptions whole."""
        return not any(one.silent or one.shortened for one in self.listings)

    @property
    def words(self) -> str:
        """What is run at most to shorten descriptions."""
        sides = [(one.ask.repeats, *map(len, one.split)) for one in self.plans]
        runs = sum(repeats * ((2 + MOST_SHORTENINGS) * train + 4 * held_out) for repeats, train, held_out in sides)
        return f"{count_noun(len(sides), 'description')} can be tried, with at most {runs:,} runs of requests"

    @property
    def report(self) -> LibraryReport:
        """The figures, before anything is run."""
        listings, more = self.listings, (f"Dry run: nothing was executed. {self.words}",) if self.plans else ()
        return LibraryReport(listings, listings, (), (*self.notes, *more))

    @property
    def payment(self) -> Payment:
        """Whether shortening is paid for."""
        settings = [one.settings for one in self.plans]
        return payment_of(self.project.root, settings[0], [one.harness for one in settings])


def listed_texts(document: SkillDocument) -> tuple[str | None, str | None]:
    """Return what Codex and Claude Code list of a skill; None where they do not list it.

    Codex lists no skill without a description, Claude Code adds `when_to_use`, and leaves out what only people call.
    """
    front, text = read_leniently(document), listed_description(document)
    usage, hidden = front.text("when_to_use"), front.values.get("disable-model-invocation") is True
    more = f" - {usage}" if usage is not None else ""
    codex, claude = (
        " ".join(one.split()).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for one in (text, f"{text}{more}")
    )
    return codex if front.text("description") else None, None if hidden else claude


def read_library(names: Sequence[str], ask: TriggerAsk) -> Library:
    """Read the skills of a project; shortened are those that are named, else all, unless all descriptions fit."""
    project = ask.selection.project()
    found = {one.name: one.path for one in project.discover()}
    if not found:
        raise UsageError(f"expected skills to list, found {HOW_TO_BEGIN}")
    asked = {project.target(replace(ask.selection, name=name)).name for name in names} or set(found)
    if outside := sorted(asked - found.keys()):
        raise UsageError(f"expected skills of the project, found {outside[0]!r} outside of it; start in its project")
    texts = {name: listed_texts(read_document(project.root / path, project.root)) for name, path in found.items()}
    library = Library(project, texts)
    if library.fits and not names:
        advice = "name a skill to shorten its description all the same"
        return replace(library, notes=(f"every client lists all descriptions whole; {advice}",))
    order = sorted(asked, key=lambda name: (-max(len(text or "") for text in texts[name]), name))
    return _planned(library, {name: found[name] for name in order}, ask, strict=bool(names))


def _planned(library: Library, paths: Mapping[str, str], ask: TriggerAsk, *, strict: bool) -> Library:
    """Plan what can be shortened, and say why of the others: one that is named is refused then."""
    plans, notes, without = list[TriggerPlan](), list[str](), 0
    for name, path in paths.items():
        selection = replace(ask.selection, name=path, folder=library.project.root)
        try:
            if not has_requests(selection):
                without += 1
                continue
            plan = plan_triggers(replace(ask, selection=selection, shorten=True))
            expect_trainable(plan)
            plans.append(plan)
        except SkilloptError as error:
            if strict:
                raise
            notes.append(f"{name}: {error}")
    if without:
        skills = f"{count_noun(without, 'skill')} without a trigger set"
        notes.append(f"figures only for {skills}; how to write one: skillopt docs triggers")
    return replace(library, plans=tuple(plans), notes=tuple(notes))


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
            if not done:
                raise
            notes.append(f"ended early, the same command goes on: {error}")
            break
        if done[-1].commit:
            document = with_description(plan.skill.document, done[-1].description)
            now = replace(now, texts={**now.texts, plan.skill.name: listed_texts(document)})
    return LibraryReport(library.listings, now.listings, tuple(done), tuple(notes))
