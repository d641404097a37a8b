"""A pull request as one value, and its title and text made of that; what a reviewer needs is on the first screen."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from shlex import quote
from typing import Final

from skillopt.figures import Headline, name_grade, read_headline
from skillopt.gate.decide import Verdict
from skillopt.gate.grades import GRADE, GRADE_MEANINGS, Against, Grade, Grading
from skillopt.loop.events import EditScreened
from skillopt.reports.markdown import (
    box,
    bullets,
    cited,
    commands,
    comment_marker,
    details,
    paragraphs,
    print_markdown,
    quote_block,
    tell_acts,
    tell_difference,
)
from skillopt.reports.run_report import ReportLimits, run_details
from skillopt.reports.view import RunView
from skillopt.rollouts import Usage
from skillopt.safety.capabilities import capability_difference
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import estimate_tokens
from skillopt.skills.edits import Edit
from skillopt.tasks import digest_of
from skillopt.versions.commit_message import Version
from skillopt.versions.merging import Conflict

OFFER_LIMIT: Final = 64_000
"""Most characters of the text, in UTF-16 units; what answered commands is noted after it."""

_CONTEXT: Final = 2
_MANY_LINES: Final = 2_000
"""From so many lines on frequent ones do not count as places where two texts meet, or the search takes minutes."""

_FIRST_LINES: Final = 18
"""Lines of the diff before the fold, and edits there: both fit on one screen with what stands around them."""

_FIRST_EDITS: Final = 10
_MOST_TASKS: Final = 4
_TEXT_LENGTHS: Final = (160, 80, 30)
_MOST_EDITS: Final = 400


@dataclass(frozen=True, slots=True)
class OfferedEdit:
    """An edit between the default branch's text and the text that is offered; `undone` by a later one, or not.

    `refused` says who refused the same in other words before, with that text, and why; not of an edit that a person
    took.
    """

    number: int
    key: str
    edit: Edit
    undone: bool = False
    fixed: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()
    ablation: EditScreened | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class OfferClaim:
    """What was measured of the offered text against the default branch's; `fresh` for this offer alone."""

    headline: Headline
    verdict: Verdict
    shown: str = ""
    fresh: bool = False
    spent: Usage | None = None
    rollouts: int = 0


@dataclass(frozen=True, slots=True)
class OfferView:
    """A text that is offered, and what is known of it."""

    skill: str
    branch: str
    into: str
    base: str
    tip: str
    before: str
    after: str
    versions: tuple[Version, ...] = ()
    edits: tuple[OfferedEdit, ...] = ()
    by_people: tuple[str, ...] = ()
    people: tuple[Version, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    target: str = ""
    conflicts: tuple[Conflict, ...] = ()
    claim: OfferClaim | None = None
    unmeasured: str = ""
    grade: Grade | None = None
    grading: Grading | None = None
    flags: tuple[str, ...] = ()
    draft: bool = False
    run: RunView | None = None

    @property
    def proven(self) -> bool:
        """Whether it is proven, and says nothing that people refused, so that it may be an ordinary pull request."""
        asks = any(edit.refused for edit in self.in_force)
        return self.grade is Grade.PROVEN and not (self.draft or self.unmeasured or asks)

    @property
    def in_force(self) -> list[OfferedEdit]:
        """The edits that no later one undid."""
        return [edit for edit in self.edits if not edit.undone]

    @property
    def shortened(self) -> bool:
        """Whether the text lost lines and nothing else."""
        return self.grading is not None and self.grading.against is Against.LONGER

    @property
    def tokens(self) -> str:
        """Estimate the tokens of both texts."""
        return f"{estimate_tokens(self.before):,} → {estimate_tokens(self.after):,} tokens"

    @property
    def shown(self) -> str:
        """The grade in words; empty where nothing was measured."""
        if self.grading is not None and self.grading.grade is self.grade:
            return name_grade(self.grading)
        if self.grade is Grade.LIKELY:  # by no figure of this text
            return "not shown to be better"
        return self.grade.value if self.grade else ""


def offer_title(view: OfferView) -> str:
    """Return the title: the skill, the tasks passed before and after, and the grade."""
    name = re.sub(r"[^a-z0-9-]", "", view.skill)
    passed = f"not measured against {re.sub(r'[^A-Za-z0-9._/-]', '', view.into)[:80]}"
    if view.claim is not None:
        passed = view.tokens if view.shortened else view.claim.headline.passed
    return f"{name}: {', '.join(filter(None, (passed, 'draft' * view.draft, view.shown)))}"


def offer_mark(view: OfferView) -> str:
    """Return the hidden line by which a text that says the same is known, so that nothing is written twice."""
    said = (view.claim.headline.words, view.claim.shown) if view.claim else (view.unmeasured,)
    asks = (edit.refused for edit in view.in_force)
    facts = digest_of(view.before, view.after, view.tip, view.shown, *said, *view.flags, *asks)
    return f"<!-- skillopt offer: {facts[:16]} -->"


def offer_body(view: OfferView, limit: int = OFFER_LIMIT) -> str:
    """Write the text; where it is too long, details go first, then words of edits."""
    for body in _shorter_and_shorter(view):
        text = f"{comment_marker(view.skill)}\n\n{offer_mark(view)}\n\n{print_markdown(body, readable=True)}"
        if len(text.encode("utf-16-le", "surrogatepass")) // 2 <= limit:
            return text
    raise ValueError(f"expected a limit that leaves space for the headline, found {limit}")


def _shorter_and_shorter(view: OfferView) -> Iterator[str]:
    for limits in (ReportLimits(rows=40), ReportLimits(text=120, rows=10)):
        yield _body(view, _TEXT_LENGTHS[0], _MOST_EDITS, run_details(view.run, limits) if view.run else "")
    for longest in _TEXT_LENGTHS:
        yield _body(view, longest, _MOST_EDITS, "")
    yield _body(view, _TEXT_LENGTHS[-1], _FIRST_EDITS, "")
    yield _headline(view)


def _body(view: OfferView, longest: int, most: int, more: str) -> str:
    diff = [*unified_diff(view.before.splitlines(), view.after.splitlines(), n=_CONTEXT, lineterm="")][3:]
    diff = ["…" if line.startswith("@@ ") else line for line in diff if line not in ("+", "-")]
    shown = len(diff) if len(diff) <= _FIRST_LINES + 2 else _FIRST_LINES
    rest = quote_block("\n".join(diff[shown:]), "diff") if diff[shown:] else ""
    edits = [_box(edit, longest) for edit in view.in_force][:most]
    return paragraphs(
        *(
            _headline(view),
            view.run.caution if view.run else "",
            tell_difference(capability_difference(view.before, view.after)),
            tell_acts(view.run.new_acts if view.run else ()),
            _red_box(view),
            _what_would_prove(view),
            quote_block("\n".join(diff[:shown]), "diff") if diff else "The text is the same; only other files differ.",
            details(f"{count_noun(len(diff) - shown, 'more line')} of the diff", rest),
            _how_to_drop(view) if edits else "",
            bullets(edits[:_FIRST_EDITS]),
            details(f"{count_noun(len(edits) - _FIRST_EDITS, 'more edit')}", bullets(edits[_FIRST_EDITS:])),
            *_by_people(view),
            _cost(view),
            _how_to_take(view),
            details("Tasks, versions and everything else", paragraphs(_flips(view), *_history(view), more)),
        )
    )


def _headline(view: OfferView) -> str:
    """Say in the first sentence what was measured, against what, and how many lines go and come."""
    gone, come = (len(lines) for lines in _differing(view.before, view.after))
    lines = f"{count_noun(gone, 'line')} removed, {come} added"
    into = cited(view.into)
    if view.claim is None:
        told = f"**Not measured**, {lines}: {cited(view.unmeasured)}."
        return f"{told} Nothing is claimed of this text against {into}."
    found, whose = view.claim.headline, _whose(view)
    figure = ", ".join(filter(None, (f"**{found.passed}**", found.gain, found.score, f"**{view.shown}**")))
    measured = f", measured with {whose}" if whose else ""
    against = f"this text against {into} at {cited(view.base[:10] or 'the start')}"
    target = f" Target: {cited(view.target, 120)}." if view.target else ""
    shown = f" {view.claim.shown}." if view.claim.shown else ""
    versions, edits = count_noun(len(view.versions), "version"), count_noun(len(view.in_force), "edit")
    return f"{figure}; {lines}{measured}: {against}.{shown}{target} {versions}, {edits}; about {view.tokens}."


def _whose(view: OfferView) -> str:
    names = list(dict.fromkeys(one.author for one in view.people))
    if not names:
        return ""
    shown = " and ".join(f"{cited(name, 60)}'s" for name in names[:3])
    several = f" and {len(names) - 3} others'" if len(names) > 3 else ""  # noqa: PLR2004 - three names are a line
    commits = cited(view.people[-1].sha[:10])
    return f"{shown}{several} {'commit' if len(view.people) == 1 else 'commits'} ({commits})"


def _red_box(view: OfferView) -> str:
    rows = [cited(flag, 300) for flag in view.flags]
    rows += [f"edit **{one.number}** was {one.refused}. Is it wanted now?" for one in view.in_force if one.refused]
    if view.conflicts:
        rows.append(
            f"{count_noun(len(view.conflicts), 'place')} changed by people here and on {cited(view.into)}, too:"
        )
        for one in view.conflicts:
            rows[-1] += f"\n  - {cited(view.into)}: {cited(one.theirs, 200) or 'nothing'}"
            rows[-1] += f"\n  - here: {cited(one.ours, 200) or 'nothing'}"
    return box("caution", f"**A person must look at this:**\n\n{bullets(rows)}") if rows else ""


def _what_would_prove(view: OfferView) -> str:
    """Say of a draft what is not shown, and what would show it."""
    if view.proven:
        return ""
    if view.claim is None:
        return box("note", "This is a draft, because nothing was measured of it.")
    if view.shortened:
        reason = next((gate.verdict.reason for gate in reversed(view.run.gates)), "") if view.run else ""
        return box(
            "note",
            f"{cited(reason)}. This is about these very tasks: what none of them checks may have changed, so a person "
            "decides. Merging takes the shorter text, closing says no.",
        )
    what = "a draft of the optimizer, no version yet" if view.draft else "a draft"
    meaning = GRADE_MEANINGS[view.grade or Grade.LIKELY]
    return box(
        "note",
        f"It is {meaning}. So this is {what}. A later night that proves it marks it as ready. Close it to say no.",
    )


def _box(offered: OfferedEdit, longest: int) -> str:
    """Write an edit on one line, with its number, what it did, and the key that a program reads."""
    edit = offered.edit
    old, new = (cited(_plain_item(text), longest) for text in (edit.anchor, edit.content))
    shown = {
        "delete": f"removes {old}",
        "replace": f"{old} becomes {new}",
        "rewrite": f"rewrites {cited(edit.section, 60)}: {new}",
    }.get(edit.op.value, new)
    said = "; ".join(_evidence(offered))
    return f"[x] **{offered.number}** {shown}{f' — {said}' if said else ''} <!-- skillopt edit: {offered.key} -->"


def _plain_item(text: str) -> str:
    """Return a text on one line; of a single item of a list, without its sign."""
    flat = " ".join(text.split())
    return flat if "\n" in text.strip() else flat.removeprefix("- ")


def _evidence(offered: OfferedEdit) -> Iterator[str]:
    if offered.fixed:
        yield f"fixed {_tasks(offered.fixed)}"
    elif offered.edit.tasks:
        yield f"for {_tasks(offered.edit.tasks)}"
    if offered.broke:
        yield f"broke {_tasks(offered.broke)}"
    found = offered.ablation
    if found is not None and found.runs:
        runs = f"{found.failed} of {count_noun(found.runs, 'run')}"
        yield f"needed: fails without it in {runs}, on {count_noun(found.tasks, 'task')}"


def _tasks(tasks: Sequence[str], most: int = _MOST_TASKS) -> str:
    more = f" and {len(tasks) - most} more" if len(tasks) > most else ""
    return ", ".join(cited(task, 60) for task in tasks[:most]) + more


def _how_to_drop(view: OfferView) -> str:
    number = view.in_force[0].number
    return (
        "**Edits**: untick an edit that you do not want; the next night drops it and measures again. You can also "
        f"comment `/skillopt drop {number}: why`, or run `skillopt decline {quote(view.skill)} {number}`."
    )


def _by_people(view: OfferView) -> Iterator[str]:
    if lines := view.by_people:
        shown = ", ".join(f"{cited(one.sha[:10])} {cited(one.subject, 80)}" for one in view.people)
        said = f"by people ({shown})" if view.people else "by people, which no recorded edit explains"
        yield f"**{count_noun(len(lines), 'line')} {said}**:"
        yield quote_block("\n".join(lines[:_FIRST_EDITS]), "diff")
        if len(lines) > _FIRST_EDITS:
            yield f"{len(lines) - _FIRST_EDITS} more lines by people stand in the diff."
    if view.dropped:
        rows = ", ".join(f"{cited(text, 80)} ({cited(by, 200)})" for text, by in view.dropped)
        # What the newest version passed with the dropped edits, and what is left without them.
        claim, before = view.claim, read_headline(dict(view.versions[-1].trailers)) if view.versions else ""
        cost = (
            f" Before the drop: {cited(before)}. Now: {claim.headline.passed}."
            if before and claim and claim.fresh
            else ""
        )
        yield f"**Dropped**: {rows}.{cost}"


def _cost(view: OfferView) -> str:
    runs = {one.trailer("Skillopt-Run"): one for one in view.versions}
    spent, rollouts = Usage(), 0
    if view.run is not None:  # it went on after its last version
        runs.pop(view.run.run, None)
        spent, rollouts = Usage.total(view.run.spend.values()), view.run.rollouts or 0
    for one in runs.values():
        spent += _price_of(one)
        rollouts += int(text) if (text := one.trailer("Rollouts")).isdecimal() else 0
    parts = [f"training {rollouts:,} rollouts, {spent.price}"] if view.versions or view.run else []
    if view.claim is not None and view.claim.fresh:
        price = view.claim.spent.price if view.claim.spent else "price unknown"
        parts.append(f"measuring this text {view.claim.rollouts:,} rollouts, {price}")
    return f"**Cost**: {'; '.join(parts)}." if parts else ""


def _price_of(version: Version) -> Usage:
    """Read what a version cost; unknown where people wrote something else there."""
    said = version.trailer("Cost-USD")
    number = said.removeprefix("at least ")
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        return Usage(usd=None)
    return Usage(usd=float(number)) if number == said else Usage(usd=None, at_least=float(number))


def _how_to_take(view: OfferView) -> str:
    back = (
        f" To roll back after a merge: `skillopt rollback {quote(view.skill)} {view.base[:10]}`." if view.base else ""
    )
    take = f"To take it: merge{f', or `skillopt take {quote(view.skill)}`' if view.draft else ''}."
    return f"{take} To refuse it: close it with a comment that says why. Training does not propose it again.{back}"


def _flips(view: OfferView) -> str:
    if view.claim is None:
        return ""
    verdict = view.claim.verdict
    rows = [
        f"{count_noun(len(names), 'task')} {what}{': ' if names else ''}{_tasks(names, 200)}"
        for what, names in (("fixed", verdict.fixed), ("broken", verdict.broken))
    ]
    return f"### Tasks fixed and broken\n\n{bullets(rows)}"


def _history(view: OfferView) -> Iterator[str]:
    rows = [
        ", ".join(
            filter(
                None,
                (
                    f"{cited(one.sha[:10])} {cited(one.subject, 120)}",
                    cited(read_headline(dict(one.trailers))),
                    cited(one.trailer(GRADE)),
                ),
            )
        )
        for one in view.versions
    ]
    undone = ", ".join(f"**{edit.number}**" for edit in view.edits if edit.undone)
    rows += [f"undone by later edits: {undone}"] if undone else []
    if rows:
        look = commands([f"git fetch origin {quote(view.branch)}", f"skillopt log {quote(view.skill)}"])
        yield paragraphs("### Versions", bullets(rows), look)
    if reasons := [(one.number, one.edit.rationale) for one in view.in_force if one.edit.rationale]:
        yield "### Why, in the proposer's words (nobody checked that)"
        yield bullets(f"**{number}** {cited(text, 300)}" for number, text in reasons)


def lines_by_people(before: str, after: str, versions: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """List the lines of a difference that no version explains, each after its sign, without blank ones."""
    explained: tuple[set[str], set[str]] = set(), set()
    for old, new in versions:
        for lines, known in zip(_differing(old, new), explained, strict=True):
            known.update(line.strip() for line in lines)
    changed = zip("-+", _differing(before, after), explained, strict=True)
    return tuple(f"{sign}{line}" for sign, lines, known in changed for line in lines if line.strip() not in known)


def _differing(before: str, after: str) -> tuple[list[str], list[str]]:
    """List the lines that went and those that came, blank ones left out."""
    old, new = before.splitlines(), after.splitlines()
    gone: list[str] = []
    come: list[str] = []
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _MANY_LINES)
    for tag, low, high, start, end in matcher.get_opcodes():
        if tag != "equal":
            gone += [line for line in old[low:high] if line.strip()]
            come += [line for line in new[start:end] if line.strip()]
    return gone, come
