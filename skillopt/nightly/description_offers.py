"""What is offered of a skill's trained description, with the text of its pull request: all of it is read from git."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from skillopt.gate.grades import GRADE, Grade
from skillopt.nightly.posting import BranchOffer
from skillopt.nightly.pull_requests import NightlyContext
from skillopt.project import Target
from skillopt.protocols import PullRequest
from skillopt.reports.escape_markdown import comment_marker, diff_block, inline_code
from skillopt.safety.plurals import count_noun
from skillopt.tasks import digest_of
from skillopt.triggers.message import BROKEN, FIXED, SIBLING_RECALL
from skillopt.triggers.quality import TriggerRate, trigger_rate
from skillopt.triggers.version import (
    description_before,
    description_line,
    description_of,
    offered_descriptions,
    trigger_branch,
)
from skillopt.versions.commit_message import DECLINED_DESCRIPTION, UNDECLINED_DESCRIPTION, Version
from skillopt.versions.draft_branch import DESCRIPTION_BRANCHES

__all__ = ["offer_description"]

_MOST_ROWS: Final = 50
_COUNTED: Final = re.compile(r"(?P<hits>\d{1,6})/(?P<of>\d{1,6})", re.ASCII)
_FIGURES: Final = re.compile(r"\d[\da-z ,./]{0,60}", re.ASCII)
_SIBLING: Final = re.compile(r"(?P<skill>[a-z0-9]+(?:-[a-z0-9]+)*) (?P<before>\S+) (?P<after>\S+)")


def offer_description(
    context: NightlyContext, target: Target, requests: Sequence[PullRequest] = ()
) -> BranchOffer | None:
    """Return what is offered of a skill's newest trained description, None where its branch does not exist.

    A description that people refused is never offered again, whatever commit it is in.
    """
    repository, name = context.project.repository(), target.name
    tip = repository.ref_tip(f"{DESCRIPTION_BRANCHES}{name}")
    if tip is None:
        return None
    path, into = repository.relative(target.folder), context.default_branch
    onto = into.commit or repository.head() or ""
    line = description_line(repository, name)
    kind = line[0].trailer("Kind") if line else ""
    made = BranchOffer(
        branch=trigger_branch(name),
        seen=context.tips.descriptions.get(name, "") if context.tips else "",
        tip=tip,
        decided=kind in (DECLINED_DESCRIPTION, UNDECLINED_DESCRIPTION),
        opened=next((one.number for one in requests if one.state == "open"), 0),
    )
    if not line:
        return made.model_copy(
            update={"unfit_reason": "its newest commit is of a person, so its text is left as it is"}
        )
    there, text = description_of(repository, onto, path) if onto else "", description_of(repository, tip, path)
    offered = offered_descriptions(repository, name, path, onto)
    if text == there:
        declined = kind == DECLINED_DESCRIPTION
        moot = "its description was declined" if declined else f"{into.name} has this description"
        return made.model_copy(update={"moot_reason": moot})
    if not offered or description_before(repository, offered[-1], path) != there:
        moot = f"the description was changed on {into.name} beside it, so it was measured against one that is gone"
        return made.model_copy(update={"moot_reason": moot})
    # One that people wanted after all may be offered though it was refused before.
    mark = "" if kind == UNDECLINED_DESCRIPTION else f"<!-- skillopt text: {digest_of(text)[:16]} -->"
    known_by = f"<!-- skillopt description: {digest_of(there, text)[:16]} -->"
    body = "\n\n".join([*_body(name, into.name, (there, text), offered), "\n".join(filter(None, (mark, known_by)))])
    said = {
        "proven": offered[0].trailer(GRADE) in ("", Grade.PROVEN.value),
        "mark": mark,
        "known_by": known_by,
        "title": _title(name, offered[0]),
        "body": f"{comment_marker(name)}\n{body}\n",
    }
    return made.model_copy(update=said)


def _title(skill: str, version: Version) -> str:
    recall, wrongly = (_before_and_after(version, name) for name in ("Recall", "False-Triggers"))
    (before, after), words = (recall, "load it") if recall[0] != recall[1] else (wrongly, "load it wrongly")
    counts = f"{before.hits} of {before.of} → {after.hits} of {after.of}"
    return f"{skill}: {counts} held-out requests {words}, with a new description"


def _body(skill: str, into: str, texts: tuple[str, str], offered: Sequence[Version]) -> Iterator[str]:
    """Write the paragraphs of a pull request's text; everything from commits and files is shown as code."""
    newest, before = offered[0], f"that of {into}"
    yield "Only `description` in the frontmatter of `SKILL.md` changes."
    yield diff_block([f"-{texts[0]}", f"+{texts[1]}"])
    if len(offered) > 1:
        before = "the one before it"
        yield (
            f"This is the newest of {len(offered)} descriptions that {into} does not have. It was measured against the "
            f"one before it on this branch, not against {into}'s."
        )
    yield "\n".join(_rates(skill, newest, before))
    yield (
        f"{_figures(newest, 'Held-Out')}, held out: who wrote the description did not see them. "
        f"Better/equal/worse: {_figures(newest, 'Wins-Ties-Losses')}, confidence {_figures(newest, 'Confidence')}."
    )
    yield "\n".join(_changed(newest))
    target, model = (inline_code(newest.trailer(key)) for key in ("Harness", "Optimizer-Model"))
    runs, usd = (_figures(newest, key) for key in ("Rollouts", "Cost-USD"))
    yield f"Asked: {target}. Written by: {model}. Training took {runs} runs, US dollars: {usd}."
    yield (
        "Close this pull request to refuse the description: training does not try it again. Opening it again takes "
        "that back."
    )


def _figures(version: Version, key: str) -> str:
    """Show a trailer with numbers; as code what people wrote there in their place."""
    text = version.trailer(key)
    return text if _FIGURES.fullmatch(text) else inline_code(text)


def _rates(skill: str, version: Version, before: str) -> Iterator[str]:
    yield f"| held-out requests | with {before} | with the new one | 95% interval of that |"
    yield "|---|---|---|---|"
    yield _rate_row("should load it, and did", *_before_and_after(version, "Recall"))
    yield _rate_row("should not load it, and did", *_before_and_after(version, "False-Triggers"))
    for text in version.values(SIBLING_RECALL)[:_MOST_ROWS]:
        if (found := _SIBLING.fullmatch(text)) and found["skill"] != skill:
            words = f"should load `{found['skill']}`, and did"
            yield _rate_row(words, _rate(found["before"]), _rate(found["after"]))


def _rate_row(words: str, before: TriggerRate, after: TriggerRate) -> str:
    counts = " | ".join(f"{one.hits} of {one.of}" for one in (before, after))
    return f"| {words} | {counts} | {after.low:.0%} to {after.high:.0%} |"


def _changed(version: Version) -> Iterator[str]:
    """List the held-out requests that went differently."""
    fixed, broken = version.values(FIXED), version.values(BROKEN)
    yield f"{count_noun(len(fixed), 'held-out request')} fixed, {len(broken)} broken."
    rows = [*((text, "right", "wrong") for text in broken), *((text, "wrong", "right") for text in fixed)]
    if rows:
        yield from ("", "| held-out request | before | now |", "|---|---|---|")
    for text, was, now in rows[:_MOST_ROWS]:
        yield f"| {inline_code(text)} | {was} | {now} |"
    if len(rows) > _MOST_ROWS:
        yield f"| {len(rows) - _MOST_ROWS} more | | |"


def _before_and_after(version: Version, name: str) -> tuple[TriggerRate, TriggerRate]:
    return _rate(version.trailer(f"{name}-Before")), _rate(version.trailer(f"{name}-After"))


def _rate(text: str) -> TriggerRate:
    """Read `7/7` of a trailer; nothing of nothing where people wrote something else there."""
    found = _COUNTED.fullmatch(text)
    return trigger_rate(min(int(found["hits"]), int(found["of"])), int(found["of"])) if found else trigger_rate(0, 0)
