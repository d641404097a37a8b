"""A pull request as one value, and its title and text made of that; what a reviewer needs is on the first screen."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final

from skillopt.gate.decide import Verdict
from skillopt.gate.grades import GRADE_MEANINGS, Against, Grade, Grading, grade_name, grade_words
from skillopt.gate.headline import Headline
from skillopt.reports.blocks import (
    Box,
    Bullets,
    Commands,
    Details,
    Heading,
    Paragraph,
    ReportBlock,
    Text,
    act_blocks,
    cited,
    difference_blocks,
    paragraphs,
)
from skillopt.reports.markdown import comment_marker, print_markdown
from skillopt.reports.run_edits import ReportLimits
from skillopt.reports.run_report import run_details
from skillopt.reports.view import Ablation, RunView
from skillopt.rollouts import Usage
from skillopt.safety.capabilities import capability_difference
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import estimate_tokens
from skillopt.skills.word_diff import match_lines
from skillopt.tasks import digest_of
from skillopt.versions.commit_message import Version
from skillopt.versions.merging import Conflict

OFFER_LIMIT: Final = 64_000
"""Most characters of the text, in UTF-16 units; what answered commands is noted after it."""

_FIRST_LINES: Final = 18
"""Lines of the diff before the fold, and edits there: both fit on one screen with what stands around them."""

_FIRST_EDITS: Final = 10
_MOST_TASKS: Final = 4
_TEXT_LENGTHS: Final = (160, 80, 30)
_MOST_EDITS: Final = 400


@dataclass(frozen=True, slots=True)
class OfferedEdit:
    """An edit between the default branch's text and the text that is offered; `undone` by a later one, or not."""

    number: int
    key: str
    op: str
    section: str
    before: str
    after: str
    undone: bool = False
    rationale: str = ""
    tasks: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    broke: tuple[str, ...] = ()
    ablation: Ablation | None = None
    refused: str = ""
    """Who refused the same in other words before, with that text, and why; of an edit that a person took, empty."""


@dataclass(frozen=True, slots=True)
class OfferedVersion:
    """A version between the two texts: its commit, what it says it does, what its gate measured, and its cost."""

    commit: str
    subject: str
    passed: str
    grading: Grading | None
    usd: float | None
    rollouts: int
    run: str


@dataclass(frozen=True, slots=True)
class OfferClaim:
    """What was measured of the offered text against the default branch's."""

    headline: Headline
    verdict: Verdict
    shown: str
    fresh: bool = False
    usd: float | None = 0.0
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
    versions: tuple[OfferedVersion, ...] = ()
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
    proof: str = ""
    flags: tuple[str, ...] = ()
    draft: bool = False
    run: RunView | None = None

    @property
    def proven(self) -> bool:
        """Whether it is proven, and says nothing that people refused, so that it may be an ordinary pull request."""
        asks = any(edit.refused for edit in self.in_force)
        return self.grade is Grade.PROVEN and not (self.draft or self.unmeasured or asks)

    @property
    def shortened(self) -> Grading | None:
        """What was shown of a text that lost lines and nothing else; None of any other."""
        return self.grading if self.grading and self.grading.against is Against.LONGER else None

    @property
    def tokens(self) -> tuple[int, int]:
        """Estimate the tokens of both texts."""
        return estimate_tokens(self.before), estimate_tokens(self.after)

    @property
    def in_force(self) -> list[OfferedEdit]:
        """The edits that no later one undid."""
        return [edit for edit in self.edits if not edit.undone]


def offer_title(view: OfferView) -> str:
    """Return the title: the skill, the tasks passed before and after, and the grade of what is not proven."""
    name = re.sub(r"[^a-z0-9-]", "", view.skill)
    words = ["draft"] * view.draft + [view.grade.value if view.grade else "not graded"]
    grade = "" if view.proven else f" ({', '.join(words)})"
    if view.claim is None:
        return f"{name}: not measured against {_plain(view.into)}{grade}"
    if view.shortened:
        before, after = view.tokens
        shown = "draft, " * view.draft + grade_name(view.shortened)
        return f"{name}: {before:,} → {after:,} tokens ({shown})"
    return f"{name}: {view.claim.headline.passed}{grade}"


def offer_mark(view: OfferView) -> str:
    """Return the hidden line by which a text that says the same is known, so that nothing is written twice."""
    claim = view.claim
    said = (claim.headline.words, claim.shown) if claim else (view.unmeasured,)
    asks = (edit.refused for edit in view.in_force)
    facts = digest_of(view.before, view.after, view.tip, view.grade or "", *said, *view.flags, *asks)
    return f"<!-- skillopt offer: {facts[:16]} -->"


def offer_body(view: OfferView, limit: int = OFFER_LIMIT) -> str:
    """Write the text; where it is too long, details go first, then words of edits."""
    for blocks in _shorter_and_shorter(view):
        text = f"{comment_marker(view.skill)}\n\n{offer_mark(view)}\n\n{print_markdown(blocks, readable=True)}"
        if len(text.encode("utf-16-le", "surrogatepass")) // 2 <= limit:
            return text
    raise ValueError(f"expected a limit that leaves space for the headline, found {limit}")


def _shorter_and_shorter(view: OfferView) -> Iterator[list[ReportBlock]]:
    for limits in (ReportLimits(rows=40), ReportLimits(text=120, rows=10)):
        yield _body(view, _TEXT_LENGTHS[0], _MOST_EDITS, run_details(view.run, limits) if view.run else [])
    for longest in _TEXT_LENGTHS:
        yield _body(view, longest, _MOST_EDITS, [])
    yield _body(view, _TEXT_LENGTHS[-1], _FIRST_EDITS, [])
    yield [Paragraph(_headline(view))]


def _body(view: OfferView, longest: int, most: int, details: list[ReportBlock]) -> list[ReportBlock]:
    diff = _diff_lines(view.before.splitlines(), view.after.splitlines())
    shown = len(diff) if len(diff) <= _FIRST_LINES + 2 else _FIRST_LINES
    edits = [_box(edit, longest) for edit in view.in_force][:most]
    rest: list[ReportBlock] = [Bullets(edits[_FIRST_EDITS:])] if edits[_FIRST_EDITS:] else []
    told: list[ReportBlock] = [Paragraph(_how_to_drop(view)), Bullets(edits[:_FIRST_EDITS])] if edits else []
    return [
        *paragraphs(_headline(view), view.run.caution if view.run else ""),
        *difference_blocks(capability_difference(view.before, view.after)),
        *act_blocks(view.run.new_acts if view.run else ()),
        *_red_box(view),
        *_what_would_prove(view),
        _diff(diff[:shown]) if diff else Paragraph("The text is the same; only other files differ."),
        *_folded(
            f"{count_noun(len(diff) - shown, 'more line')} of the diff", [_diff(diff[shown:])] if diff[shown:] else []
        ),
        *told,
        *_folded(f"{count_noun(len(edits) - _FIRST_EDITS, 'more edit')}", rest),
        *_by_people(view),
        *paragraphs(_cost(view), _how_to_take(view)),
        *_folded("Tasks, versions and everything else", [*_flips(view), *_history(view), *details]),
    ]


def _diff(lines: Sequence[str]) -> Text:
    return Text("\n".join(" ".join(line.splitlines()) for line in lines), "diff")


def _folded(summary: str, blocks: list[ReportBlock]) -> list[ReportBlock]:
    return [Details(summary, blocks)] if blocks else []


def _headline(view: OfferView) -> str:
    into = cited(view.into)
    if view.claim is None:
        return f"**Not measured**: {cited(view.unmeasured)}. Nothing is claimed of this text against {into}."
    whose = _whose(view)
    measured = f", measured with {whose}" if whose else ""
    target = f" Target: {cited(view.target, 120)}." if view.target else ""
    versions = count_noun(len(view.versions), "version")
    tokens, grade = view.tokens, ""
    if view.grade is not None:
        words = grade_words(view.grading) if view.grading else view.grade.value
        grade = f" **{words[:1].upper()}{words[1:]}**."
    return (
        f"**{view.claim.headline.passed}** ({view.claim.headline.score}){measured}: this text against {into} at "
        f"{cited(view.base[:10] or 'the start')}. {view.claim.shown}.{grade}{target} {versions}, "
        f"{count_noun(len(view.in_force), 'edit')}; about {tokens[0]:,} to {tokens[1]:,} tokens."
    )


def _whose(view: OfferView) -> str:
    names = list(dict.fromkeys(one.author for one in view.people))
    if not names:
        return ""
    shown = " and ".join(f"{cited(name, 60)}'s" for name in names[:3])
    several = f" and {len(names) - 3} others'" if len(names) > 3 else ""  # noqa: PLR2004 - three names are a line
    commits = [cited(one.sha[:10]) for one in view.people[-1:]]
    return f"{shown}{several} {'commit' if len(view.people) == 1 else 'commits'} ({', '.join(commits)})"


def _red_box(view: OfferView) -> list[ReportBlock]:
    rows = [cited(flag, 300) for flag in view.flags]
    rows += [f"edit **{one.number}** was {one.refused}. Is it wanted now?" for one in view.in_force if one.refused]
    if view.conflicts:
        rows.append(f"{count_noun(len(view.conflicts), 'place')} changed by people here and on {view.into}, too:")
        for one in view.conflicts:
            rows[-1] += f"\n  - {cited(view.into)}: {cited(one.theirs, 200) or 'nothing'}"
            rows[-1] += f"\n  - here: {cited(one.ours, 200) or 'nothing'}"
    return [Box("caution", [Paragraph("**A person must look at this:**"), Bullets(rows)])] if rows else []


def _what_would_prove(view: OfferView) -> list[ReportBlock]:
    """Say of a draft what is not shown, and what would show it."""
    if view.proven:
        return []
    if view.claim is None:
        return [Box("note", paragraphs("This is a draft, because nothing was measured of it."))]
    if view.shortened:
        shown = next((gate.verdict.reason for gate in reversed(view.run.gates)), "") if view.run else ""
        told = (
            f"{cited(shown)}. This is about these very tasks: what none of them checks may have changed, so a person "
            "decides. Merging takes the shorter text, closing says no."
        )
        return [Box("note", paragraphs(told))]
    grade = view.grade or Grade.LIKELY
    proof = f" {view.proof}" if view.proof else ""
    what = "a draft of the optimizer, no version yet" if view.draft else "a draft"
    told = (
        f"**{grade.value.capitalize()}**: {GRADE_MEANINGS[grade]}. So this is {what}.{proof} A later night that proves "
        "it marks it as ready. Close it to say no."
    )
    return [Box("note", paragraphs(told))]


def _diff_lines(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Show the difference as the skill will read, under the headings that it is below."""
    found: list[str] = []
    section = ""
    for tag, low, high, start, end in match_lines(old, new).get_opcodes():
        if tag == "equal":
            headings = [line for line in old[low:high] if line.startswith("#")]
            section = headings[-1] if headings else section
            continue
        changed = [f"-{line}" for line in old[low:high] if line.strip()]
        changed += [f"+{line}" for line in new[start:end] if line.strip()]
        if section and changed:
            found.append(f" {section}")
            section = ""
        found += changed
    return found


def _box(edit: OfferedEdit, longest: int) -> str:
    """Write an edit on one line, with its number, what it did, and the key that a program reads."""
    texts = [cited(_plain_item(text), longest) for text in (edit.before, edit.after)]
    shown = {
        "delete": f"removes {texts[0]}",
        "replace": f"{texts[0]} becomes {texts[1]}",
        "rewrite": f"rewrites {cited(edit.section, 60)}: {texts[1]}",
    }.get(edit.op, texts[1])
    said = "; ".join(_evidence(edit))
    return f"[x] **{edit.number}** {shown}{f' — {said}' if said else ''} <!-- skillopt edit: {edit.key} -->"


def _plain_item(text: str) -> str:
    """Return a text on one line; of a single item of a list, without its sign."""
    flat = " ".join(text.split())
    return flat if "\n" in text.strip() else flat.removeprefix("- ")


def _evidence(edit: OfferedEdit) -> Iterator[str]:
    if edit.fixed:
        yield f"fixed {_tasks(edit.fixed)}"
    elif edit.tasks:
        yield f"for {_tasks(edit.tasks)}"
    if edit.broke:
        yield f"broke {_tasks(edit.broke)}"
    found = edit.ablation
    if found is not None and found.runs:
        runs = f"{found.failed} of {count_noun(found.runs, 'run')}"
        yield f"needed: fails without it in {runs}, on {count_noun(found.tasks, 'task')}"


def _tasks(tasks: Sequence[str], most: int = _MOST_TASKS) -> str:
    shown = [cited(task, 60) for task in tasks[:most]]
    more = f" and {len(tasks) - most} more" if len(tasks) > most else ""
    return ", ".join(shown) + more


def _how_to_drop(view: OfferView) -> str:
    number = view.in_force[0].number
    return (
        "**Edits**: untick an edit that you do not want; the next night drops it and measures again. You can also "
        f"comment `/skillopt drop {number}: why`, or run `skillopt decline {quote(view.skill)} {number}`."
    )


def _by_people(view: OfferView) -> list[ReportBlock]:
    parts: list[ReportBlock] = []
    if lines := view.by_people:
        commits = ", ".join(f"{cited(one.sha[:10])} {cited(one.subject, 80)}" for one in view.people)
        said = f"by people ({commits})" if view.people else "by people, which no recorded edit explains"
        parts += [Paragraph(f"**{count_noun(len(lines), 'line')} {said}**:"), _diff(lines[:_FIRST_EDITS])]
        if len(lines) > _FIRST_EDITS:
            parts += paragraphs(f"{len(lines) - _FIRST_EDITS} more lines by people stand in the diff.")
    rows = ", ".join(f"{cited(text, 80)} ({cited(by, 200)})" for text, by in view.dropped)
    return [*parts, *paragraphs(f"**Dropped**: {rows}.{_cost_of_drop(view)}" if rows else "")]


def _cost_of_drop(view: OfferView) -> str:
    """Return what the newest version passed with the dropped edits, and what is left without them."""
    claim, newest = view.claim, view.versions[-1:]
    if claim is None or not claim.fresh or not newest or not newest[0].passed:
        return ""
    return f" Before the drop: {newest[0].passed}. Now: {claim.headline.passed}."


def _cost(view: OfferView) -> str:
    newest = {one.run: (one.rollouts, one.usd) for one in view.versions if one.run}
    if view.run is not None:  # it went on after its last version
        usd, counts = Usage.total(view.run.spend.values()).usd, view.run.rollouts
        newest[view.run.run] = (counts.asked or counts.paid, usd)
    parts = []
    if newest:
        rollouts = sum(count for count, _ in newest.values())
        parts.append(f"training {rollouts:,} rollouts, {_price([usd for _, usd in newest.values()])}")
    if view.claim is not None and view.claim.fresh:
        parts.append(f"measuring this text {view.claim.rollouts:,} rollouts, {_price([view.claim.usd])}")
    return f"**Cost**: {'; '.join(parts)}." if parts else ""


def _price(prices: Sequence[float | None]) -> str:
    return "price not known" if None in prices else f"${sum(usd or 0.0 for usd in prices):.2f}"


def _how_to_take(view: OfferView) -> str:
    back = (
        f" To roll back after a merge: `skillopt rollback {quote(view.skill)} {view.base[:10]}`." if view.base else ""
    )
    take = f"To take it: merge{f', or `skillopt take {quote(view.skill)}`' if view.draft else ''}."
    return f"{take} To refuse it: close it with a comment that says why. Training does not propose it again.{back}"


def _flips(view: OfferView) -> list[ReportBlock]:
    if view.claim is None:
        return []
    verdict = view.claim.verdict
    rows = [
        f"{count_noun(len(names), 'task')} {what}{': ' if names else ''}{_tasks(names, 200)}"
        for what, names in (("fixed", verdict.fixed), ("broken", verdict.broken))
    ]
    return [Heading("Tasks fixed and broken", 3), Bullets(rows)]


def _history(view: OfferView) -> list[ReportBlock]:
    rows = [
        f"{cited(one.commit[:10])} {cited(one.subject, 120)}"
        f"{f': {one.passed}' if one.passed else ''}{f', {grade_words(one.grading)}' if one.grading else ''}"
        for one in view.versions
    ]
    undone = ", ".join(f"**{edit.number}**" for edit in view.edits if edit.undone)
    rows += [f"undone by later edits: {undone}"] if undone else []
    reasons = [f"**{edit.number}** {cited(edit.rationale, 300)}" for edit in view.in_force if edit.rationale]
    look = Commands([f"git fetch origin {quote(view.branch)}", f"skillopt log {quote(view.skill)}"])
    parts: list[ReportBlock] = [Heading("Versions", 3), Bullets(rows), look] if rows else []
    if reasons:
        parts += [Heading("Why, in the proposer's words (nobody checked that)", 3), Bullets(reasons)]
    return parts


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._/-]", "", name)[:80]


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
    for tag, low, high, start, end in match_lines(old, new).get_opcodes():
        if tag != "equal":
            gone += [line for line in old[low:high] if line.strip()]
            come += [line for line in new[start:end] if line.strip()]
    return gone, come
