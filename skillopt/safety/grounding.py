"""Find what a change says that stands neither in the skill before nor in the tasks that it was learned from.

Grounded is not harmless and ungrounded is not hostile: it is what a person reads first.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from skillopt.rollouts import Rollout
from skillopt.safety.disguised_text import as_read, scripts_of
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.lint import LintFinding
from skillopt.safety.literals import Literal, LiteralKind, find_literals, normalise, split_prose
from skillopt.safety.text_classes import LintClass
from skillopt.skills.edits import Edit
from skillopt.tasks import Task

_MOST_FINDINGS: Final = 20
_LONGEST_EXCERPT: Final = 80
_WHOLE: Final = frozenset(
    (LiteralKind.PATH, LiteralKind.QUOTE, LiteralKind.PERMISSION, LiteralKind.REFERENCE, LiteralKind.NAME)
)
"""Kinds that are known as a whole or not at all; of others it is enough that all their words are known."""

_FORMS: Final = frozenset((LiteralKind.NAME, LiteralKind.NUMBER, LiteralKind.QUOTE, LiteralKind.CODE))
"""Kinds of which a single letter or digit is a placeholder."""


def find_ungrounded(before: str, after: str, sources: Iterable[str]) -> tuple[LintFinding, ...]:
    """Find the literals of the added text that stand neither in the skill before nor in the sources.

    Sources are the prompts, input files and feedback of the tasks cited, and the rollouts that were shown.

    >>> for found in find_ungrounded("Fill the account column.", "Pay to `DE89 3704 0044`.", ["Fill in the accounts."]):
    ...     print(found)
    line 1 names the number or identifier 'DE89 3704 0044', which stands in no task cited and not in the skill before
    """
    known = _Known((before, *sources))
    old = {(one.kind, one.text) for one in find_literals(before)}
    found: dict[str, LintFinding] = {}
    for one in find_literals(after):
        if (one.kind, one.text) not in old and not known.grounds(one):
            found.setdefault(" ".join(normalise(one.text)), _finding(f"names the {one.kind}", one.text, one.line))
    return (*list(found.values())[:_MOST_FINDINGS], *_foreign(before, after, known))


def name_ungrounded(edit: Edit, skill: str, shown: Sequence[tuple[Task, Rollout]]) -> Edit:
    """Note in an edit which of its literals stand neither in a skill nor in what the tasks that it cites have shown."""
    cited = [pair for pair in shown if pair[0].id in edit.tasks] or shown
    found = find_ungrounded(skill, edit.content, [text for pair in cited for text in _shown(*pair)])
    return replace(edit, ungrounded=tuple(one.excerpt for one in found))


def _shown(task: Task, rollout: Rollout) -> Iterator[str]:
    yield from (task.prompt, *(file.path for file in task.files), *(file.text for file in task.files))
    yield from (task.verifier.leaves if task.verifier.judged else ())
    yield from (rollout.score.feedback if rollout.score else "", rollout.trajectory.answer)
    for message in rollout.trajectory.messages:
        yield from (message.text, *(f"{call.name} {call.arguments} {call.result}" for call in message.tool_calls))


def _finding(what: str, text: str, line: int) -> LintFinding:
    excerpt = truncate(repr(escape_terminal(text)), _LONGEST_EXCERPT)
    message = f"line {line} {what} {excerpt}, which stands in no task cited and not in the skill before"
    return LintFinding(LintClass.UNGROUNDED, message, excerpt, line)


class _Known:
    """The words that a change can have been learned from."""

    def __init__(self, texts: Iterable[str]) -> None:
        listed = [word for text in texts for word in _read(text)]
        self.words = Counter(listed)
        self.joined = f" {' '.join(listed)} "
        self.scripts = {script for text in self.words for script in scripts_of(text)}

    def grounds(self, literal: Literal) -> bool:
        """Return whether a literal stands in these texts, whatever its case and signs."""
        if literal.kind is LiteralKind.CONDITION:
            return True  # by its own literals
        words = normalise(literal.text)
        if (literal.kind in _FORMS and all(len(word) == 1 for word in words)) or f" {' '.join(words)} " in self.joined:
            return True
        if literal.kind is LiteralKind.FILE:
            return f" {' '.join(normalise(literal.text.rstrip('/').rsplit('/', 1)[-1]))} " in self.joined
        return literal.kind not in _WHOLE and all(word in self.words for word in words)


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[str, ...]:
    return tuple(normalise(as_read(text)))


def _foreign(before: str, after: str, known: _Known) -> Iterator[LintFinding]:
    """Find lines in a script that the skill and its tasks do not use."""
    old = {prose for _, prose in split_prose(before)}
    for number, prose in split_prose(after):
        if prose in old:
            continue
        new = {script for word in prose.split() if len(word) > 1 for script in scripts_of(word)} - known.scripts
        if known.scripts and new:
            yield _finding("is in a script of its own:", prose.strip(), number)
