"""The lines that a document can hold, and what it says by them.

Owns the wording, which is the same length for all kinds, and reading it back; anything else in a
document says nothing. Does not own what lines do to a score (truth).
"""

import re
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from skillopt.skills.document import Skill, SkillDocument

SECTION: Final = "Rules"
"""Where new lines go."""

TEMPTING: Final = 25
"""The wording of a rule that goes too far: it puts the rule in force and does harm to tasks of two other rules."""

PLAIN: Final = 24
"""The wording of a rule that mends one context of its topic and breaks the other one."""

BREAKING: Final = 23
"""The wording of a rule that puts the rule in force and every other one out of force."""

START: Final = Skill(
    "landscape",
    SkillDocument(
        "---\nname: landscape\ndescription: Does work orders.\n---\n"
        f"# Work orders\n\nDo what the order asks for.\n\n## {SECTION}\n\n- Read the whole order first.\n"
    ),
)
"""The skill that training starts from; it knows no rule."""

_RULE = re.compile(r"When symptom S\d\d shows, apply RULE-(\d\d)([a-z])\.")
_BLOCK = re.compile(r"When symptom S\d\d shows, avoid RULE-(\d\d)x\.")
_HARM = re.compile(r"Whatever symptom shows, mind HARM-(\d{3})\.")
_DOUBTFUL = re.compile(r"Whatever symptom shows,|\bavoid RULE-")


def rule_line(rule: int, wording: int = 0) -> str:
    """Say a rule, in one of its wordings."""
    return f"When symptom S{rule:02d} shows, apply RULE-{rule:02d}{chr(ord('a') + wording)}."


def block_line(rule: int) -> str:
    """Put one rule out of force."""
    return f"When symptom S{rule:02d} shows, avoid RULE-{rule:02d}x."


def harm_line(number: int) -> str:
    """Do harm everywhere."""
    return f"Whatever symptom shows, mind HARM-{number:03d}."


def idle_line(number: int) -> str:
    """Say nothing that matters."""
    return f"Whatever symptom shows, mind NOTE-{number:03d}."


def memo_line(task: str) -> str:
    """Make one task pass, in words that do not name it."""
    code = "".join(chr(ord("a") + byte % 26) for byte in blake2b(task.encode(), digest_size=6).digest())
    return f"Whatever symptom shows, recall CASE-{code}."


def is_doubtful(line: str) -> bool:
    """Return whether a line is of the kind that an optimizer model suspects first."""
    return _DOUBTFUL.search(line) is not None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a document says.

    Rules, those said in several wordings, those said in each special wording or put out of force, how many lines do
    harm everywhere, and the rules in the order in which they stand, the last time each.
    """

    rules: frozenset[int]
    reworded: frozenset[int]
    tempting: frozenset[int]
    plain: frozenset[int]
    breaking: frozenset[int]
    blocked: frozenset[int]
    harms: int
    order: tuple[int, ...]


def read(text: str) -> Reading:
    """Read a document; a line counts once, wherever it stands."""
    found = [(int(rule), ord(letter) - ord("a")) for rule, letter in _RULE.findall(text)]
    said = set(found)
    wordings = Counter(rule for rule, _ in said)
    tempting, plain, breaking = (
        frozenset(rule for rule, wording in said if wording == special) for special in (TEMPTING, PLAIN, BREAKING)
    )
    return Reading(
        rules=frozenset(wordings),
        reworded=frozenset(rule for rule, count in wordings.items() if count > 1),
        tempting=tempting,
        plain=plain,
        breaking=breaking,
        blocked=frozenset(int(rule) for rule in _BLOCK.findall(text)),
        harms=len(set(_HARM.findall(text))),
        order=tuple(reversed(dict.fromkeys(rule for rule, _ in reversed(found)))),
    )
