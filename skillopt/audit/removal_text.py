"""Title and text of the pull request that proposes the removal of idle skills."""

import re
from collections.abc import Sequence
from typing import Final

from skillopt.audit.findings import AuditedSkill
from skillopt.reports.escape_markdown import inline_code
from skillopt.safety.plurals import count_noun
from skillopt.tasks import digest_of

__all__ = ["names_removal", "removal_body", "removal_title"]

_LONGEST_NAME: Final = 60

_LIMITS: Final = (
    "Each limit is for the score on these very tasks and holds with 95% for its skill; what other tasks need it "
    "does not say. Tokens and turns are what one rollout takes with the skill minus without it, the listing is an "
    "estimate of the tokens of name and description, which every session reads."
)
_BLOCK: Final = re.compile(
    r"^((?:<!-- skillopt removal: [0-9a-f]{16} -->\n)+)<!-- skillopt audit: [0-9a-f]{16} -->[ \t]*$", re.MULTILINE
)
"""The marks of the skills, and the line by which the pull request itself is known."""

_CLOSING: Final = (
    "Links of the repository that lead into the folders go, too. Closing this without a merge keeps the skills: their "
    "removal is not proposed again for this target."
)


def names_removal(body: str, row: AuditedSkill) -> bool:
    """Return whether a pull request of ours proposed the removal of a skill for a target.

    Its mark counts as a whole line of the block that our text ends with, not where people quote it.
    """
    blocks = _BLOCK.findall(body.replace("\r\n", "\n"))
    return bool(blocks) and _removal_mark(row) in blocks[-1].splitlines()


def removal_title(rows: Sequence[AuditedSkill]) -> str:
    """Return how many skills are to be removed; of one, its name."""
    if len(rows) == 1:
        return f"Remove the idle skill {rows[0].skill[:_LONGEST_NAME]}"
    return f"Remove {count_noun(len(rows), 'idle skill')}"


def removal_body(rows: Sequence[AuditedSkill], orphans: Sequence[str]) -> str:
    """Write the text: what removal loses at most, what it saves, and how to say no."""
    targets = ", ".join(inline_code(target) for target in sorted({row.target for row in rows}))
    one = len(rows) == 1
    most = max(max(row.high or 0.0, 0.0) for row in rows)
    lines = [
        (
            f"`skillopt audit` found {count_noun(len(rows), 'skill')} idle on {targets}: without "
            f"{'it' if one else 'them'} the mean score on {'its' if one else 'their'} own tasks falls by at most "
            f"{most:.2f}. This deletes {'its folder' if one else 'their folders'}, and what `skillopt.toml` says of "
            f"{'it' if one else 'them'}."
        ),
        "",
        "| skill | removal loses at most | passed without → with | pairs | tasks | tokens | turns | listing |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *map(_line, rows),
        "",
        _LIMITS,
        "",
    ]
    if orphans:
        lines += [f"No skill has these tasks afterwards; they stay: {', '.join(map(inline_code, orphans))}.", ""]
    lines += [
        _CLOSING,
        "",
        *map(_removal_mark, rows),
    ]
    return "\n".join(lines)


def _removal_mark(row: AuditedSkill) -> str:
    """Return the hidden line of a skill and the target, whatever its text."""
    return f"<!-- skillopt removal: {digest_of(row.skill, row.target)[:16]} -->"


def _line(row: AuditedSkill) -> str:
    costs = row.costs
    cells = (
        inline_code(row.skill),
        f"{max(row.high or 0.0, 0.0):.2f}",
        f"{row.passed_without or 0.0:.0%} → {row.passed_with or 0.0:.0%}",
        str(row.pairs),
        str(row.tasks),
        "-" if costs.tokens is None else f"{costs.tokens:+,.0f}",
        "-" if costs.turns is None else f"{costs.turns:+.1f}",
        str(row.listing_tokens),
    )
    return f"| {' | '.join(cells)} |"
