"""A pull request as one value, and its title and text made of that; what a reviewer needs is on the first screen."""

import re
from dataclasses import dataclass, replace
from difflib import unified_diff
from shlex import quote
from typing import Final

from skillopt.figures import Headline, name_grade, read_headline
from skillopt.gate.decide import Verdict
from skillopt.gate.grades import GRADE_MEANINGS, Against, Grade, Grading
from skillopt.loop.events import EditScreened
from skillopt.reports.markdown import (
    box,
    bullets,
    cited,
    comment_marker,
    details,
    list_names,
    paragraphs,
    print_markdown,
    quote_block,
    tell_acts,
    tell_difference,
)
from skillopt.reports.run_report import list_flips, list_units
from skillopt.reports.view import RunView
from skillopt.rollouts import Usage
from skillopt.safety.capabilities import capability_difference
from skillopt.safety.escaping import count_noun
from skillopt.skills.document import estimate_tokens
from skillopt.skills.edits import Edit
from skillopt.tasks import digest_of
from skillopt.versions.commit_message import Version
from skillopt.versions.merging import Conflict

OFFER_LIMIT: Final = 64_000
"""Most characters of the text, in UTF-16 units; what answered commands is noted after it."""

_CONTEXT: Final = 2  # lines around a change: as many as show where it stands
_FIRST_LINES: Final = 18  # of the diff before the fold: fit on one screen with what stands around them
_FIRST_EDITS: Final = 10  # the same of edits
_MOST_TASKS: Final = 4  # a row of an edit stays a line
_LONGEST: Final = 160  # characters of an edit: a line of the page
_SHORTEST: Final = 30  # as many as tell an edit from others where there are hundreds


@dataclass(frozen=True, slots=True)
class OfferedEdit:
    """An edit that is offered; `refused` says who refused the same in other words, with that text, and why."""

    number: int
    key: str
    edit: Edit
    fixed: tuple[str, ...] = ()
    ablation: EditScreened | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class OfferClaim:
    """What was measured of the offered text against the default branch's; `spent` where that was for this offer."""

    headline: Headline
    verdict: Verdict
    shown: str = ""
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
    dropped: tuple[tuple[str, str], ...] = ()
    target: str = ""
    conflicts: tuple[Conflict, ...] = ()
    claim: OfferClaim | None = None
    unmeasured: str = ""
    grade: Grade | None = None
    grading: Grading | None = None
    flags: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    draft: bool = False
    run: RunView | None = None

    @property
    def proven(self) -> bool:
        """Whether it is proven, and says nothing that people refused, so that it may be an ordinary pull request."""
        asks = any(edit.refused for edit in self.edits)
        return self.grade is Grade.PROVEN and not (self.draft or self.unmeasured or asks)

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
    asks = (edit.refused for edit in view.edits)
    facts = digest_of(view.before, view.after, view.tip, view.shown, *said, *view.flags, *asks)
    return f"<!-- skillopt offer: {facts[:16]} -->"


def offer_body(view: OfferView, limit: int = OFFER_LIMIT) -> str:
    """Write the text; where it is too long, words of edits go first, then edits."""
    fewer = replace(view, edits=view.edits[:_FIRST_EDITS])
    for body in (_body(view, _LONGEST), _body(view, _SHORTEST), _body(fewer, _SHORTEST), _headline(view)):
        text = f"{comment_marker(view.skill)}\n\n{offer_mark(view)}\n\n{print_markdown(body, readable=True)}"
        if len(text.encode("utf-16-le", "surrogatepass")) // 2 <= limit:
            return text
    raise ValueError(f"expected a limit that leaves space for the headline, found {limit}")


def _body(view: OfferView, longest: int) -> str:
    diff = _diff(view)
    shown = len(diff) if len(diff) <= _FIRST_LINES + 2 else _FIRST_LINES
    rest = quote_block("\n".join(diff[shown:]), "diff") if diff[shown:] else ""
    edits = [_box(edit, longest) for edit in view.edits]
    why = [f"**{one.number}** {cited(one.edit.rationale, 300)}" for one in view.edits if one.edit.rationale]
    reasons = ("### Why, in the proposer's words (nobody checked that)", bullets(why)) if why else ()
    flips = ("### Tasks fixed and broken", list_flips(view.claim.verdict)) if view.claim else ()
    units = list_units(view.run) if view.run and longest == _LONGEST else ""  # the longest part goes first
    drop = "**Edits**: untick an edit that you do not want; the next night drops it and measures again. You can also "
    number = view.edits[0].number if edits else 0
    drop += f"comment `/skillopt drop {number}: why`, or run `skillopt decline {quote(view.skill)} {number}`."
    take = f"To take it: merge{f', or `skillopt take {quote(view.skill)}`' if view.draft else ''}."
    take += " To refuse it: close it with a comment that says why. Training does not propose it again."
    if view.base:
        take += f" To roll back after a merge: `skillopt rollback {quote(view.skill)} {view.base[:10]}`."
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
            drop if edits else "",
            bullets(edits[:_FIRST_EDITS]),
            details(f"{count_noun(len(edits) - _FIRST_EDITS, 'more edit')}", bullets(edits[_FIRST_EDITS:])),
            _dropped(view),
            _cost(view),
            take,
            details("Tasks and reasons", paragraphs(*flips, *reasons, units)),
            f"Everything recorded of its run: `skillopt report {quote(view.run.run)}`." if view.run else "",
        )
    )


def _diff(view: OfferView) -> list[str]:
    """Compare the texts line by line, with two lines of context and without blank lines that go or come."""
    lines = [*unified_diff(view.before.splitlines(), view.after.splitlines(), n=_CONTEXT, lineterm="")][3:]
    return ["…" if line.startswith("@@ ") else line for line in lines if line.strip() not in ("+", "-")]


def _headline(view: OfferView) -> str:
    """Say in the first sentence what was measured, against what, and how many lines go and come."""
    gone, come = (sum(line.startswith(sign) for line in _diff(view)) for sign in "-+")
    lines = f"{count_noun(gone, 'line')} removed, {come} added"
    into = cited(view.into)
    if view.claim is None:
        told = f"**Not measured**, {lines}: {cited(view.unmeasured)}."
        return f"{told} Nothing is claimed of this text against {into}."
    found = view.claim.headline
    figure = ", ".join(filter(None, (f"**{found.passed}**", found.gain, found.score, f"**{view.shown}**")))
    against = f"this text against {into} at {cited(view.base[:10] or 'the start')}"
    target = f" Target: {cited(view.target, 120)}." if view.target else ""
    shown = f" {view.claim.shown}." if view.claim.shown else ""
    versions, edits = count_noun(len(view.versions), "version"), count_noun(len(view.edits), "edit")
    return f"{figure}; {lines}: {against}.{shown}{target} {versions}, {edits}; about {view.tokens}."


def _red_box(view: OfferView) -> str:
    rows = [cited(flag, 300) for flag in view.flags]
    rows += [f"edit **{one.number}** was {one.refused}. Is it wanted now?" for one in view.edits if one.refused]
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
    edit, found = offered.edit, offered.ablation
    flat = (text if "\n" in text.strip() else text.strip().removeprefix("- ") for text in (edit.anchor, edit.content))
    old, new = (cited(text, longest) for text in flat)
    shown = {
        "delete": f"removes {old}",
        "replace": f"{old} becomes {new}",
        "rewrite": f"rewrites {cited(edit.section, 60)}: {new}",
    }.get(edit.op.value, new)
    tasks = offered.fixed or edit.tasks
    said = f" — {'fixed' if offered.fixed else 'for'} {list_names(tasks, _MOST_TASKS, 60)}" if tasks else ""
    if found is not None and found.runs:
        runs = f"{found.failed} of {count_noun(found.runs, 'run')}"
        said += f"{';' if said else ' —'} needed: fails without it in {runs}, on {count_noun(found.tasks, 'task')}"
    return f"[x] **{offered.number}** {shown}{said} <!-- skillopt edit: {offered.key} -->"


def _dropped(view: OfferView) -> str:
    """Name the edits that people dropped, with what the newest version passed with them and what is left without."""
    if not view.dropped:
        return ""
    told = f"**Dropped**: {', '.join(f'{cited(text, 80)} ({cited(by, 200)})' for text, by in view.dropped)}."
    before = read_headline(dict(view.versions[-1].trailers)) if view.versions else ""
    if before and view.claim is not None and view.claim.spent is not None:
        told += f" Before the drop: {cited(before)}. Now: {view.claim.headline.passed}."
    return told


def _cost(view: OfferView) -> str:
    runs = {one.trailer("Skillopt-Run"): one for one in view.versions}
    spent, rollouts = Usage(), 0
    if view.run is not None:  # it went on after its last version
        runs.pop(view.run.run, None)
        spent, rollouts = Usage.total(view.run.spend.values()), view.run.rollouts or 0
    for one in runs.values():
        # People may have written something else there.
        found = re.fullmatch(r"(at least )?(\d+(?:\.\d+)?)", one.trailer("Cost-USD"))
        known = float(found[2]) if found else 0.0
        spent += Usage(usd=known) if found and not found[1] else Usage(usd=None, at_least=known)
        rollouts += int(text) if (text := one.trailer("Rollouts")).isdecimal() else 0
    parts = [f"training {rollouts:,} rollouts, {spent.price}"] if view.versions or view.run else []
    if view.claim is not None and view.claim.spent is not None:
        parts.append(f"measuring this text {view.claim.rollouts:,} rollouts, {view.claim.spent.price}")
    return f"**Cost**: {'; '.join(parts)}." if parts else ""
