"""A placebo: a text of the same length and with the same headings as a skill, which says nothing about any task."""

from collections.abc import Iterator
from itertools import cycle
from typing import Final

from skillopt.skills.document import Skill, SkillDocument

_PAGE: Final = """\
The harbour of the old town faces west, and boats come in when the wind turns towards evening. Along the quay stand nine
lamps, which a keeper used to light by hand. Behind them the street climbs past a bakery, a school with green shutters
and a square with two lime trees. On clear days the islands can be seen from there, the nearest no larger than a meadow.
In winter the ferry sails twice a week. Most families have a garden above the town, where they grow beans, leeks and
pears, and where a path leads on to the hills. Shepherds have kept it open for longer than anybody remembers.
"""


def placebo_of(skill: Skill) -> Skill:
    r"""Make the placebo of a skill, of which the frontmatter stays; files beside it are left out.

    >>> print(placebo_of(Skill("rows", SkillDocument("# Rows\n\n- Write dates as 2026-01-31.\n"))).document.text)
    # Rows
    <BLANKLINE>
    - The harbour of the old town
    <BLANKLINE>
    """
    document = SkillDocument(skill.document.parts[0].text)
    head = document.text.removesuffix(document.body)
    kept, words = {section.line for section in document.sections}, cycle(_PAGE.split())
    lines = [
        line if number in kept or not line.strip() else _filled(line, words)
        for number, line in enumerate(document.body.split("\n"), head.count("\n") + 1)
    ]
    return Skill(skill.name, SkillDocument(head + "\n".join(lines)))


def _filled(line: str, words: Iterator[str]) -> str:
    """Fill a line with other words, to about its length; a mark of a list stays one."""
    start = line[: len(line) - len(line.lstrip())] + ("- " if line.lstrip().startswith(("- ", "* ")) else "")
    found = start + next(words)
    while len(found) < len(line) - 3:
        found += f" {next(words)}"
    return found
