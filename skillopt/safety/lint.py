"""Lint of a change to a skill: classes of text that may not be added unless the user allows them.

Whole documents are compared, so text that two harmless edits form together is found, in linear time.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from skillopt.safety.capabilities import DifferenceKind, capability_difference
from skillopt.safety.credentials import find_credentials, mask
from skillopt.safety.disguised_text import as_read, hidden_runs, without_entities
from skillopt.safety.escaping import truncate
from skillopt.safety.text_classes import LONGEST_LINE, LONGEST_TEXT, LintClass, TextMatch
from skillopt.safety.unseen_text import find_carriers, find_unseen
from skillopt.skills.document import SkillDocument
from skillopt.skills.load_commands import find_load_commands
from skillopt.skills.trained_files import is_script, split_text


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that a change adds: class, one line for people, the text with credentials masked, line from 1."""

    kind: LintClass
    message: str
    excerpt: str
    line: int

    def __str__(self) -> str:
        """Show its message."""
        return self.message


_MOST_FINDINGS = 20  # in one screen; the rest is counted
_LONGEST_EXCERPT = 120  # a line of a terminal
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"<!--\s*skillopt:[^\n]{0,200}?(?:--!?>|$)", re.MULTILINE)
_KEY, _IN_WORDS = "what looks like a credential", "say it in visible text, or leave it out"

_WAITING = {
    DifferenceKind.REMOVED: (LintClass.REMOVED_RULE, "removes the rule"),
    DifferenceKind.FRONTMATTER: (LintClass.FRONTMATTER, "adds to the frontmatter"),
    DifferenceKind.PERMISSION: (LintClass.PERMISSION_KEY, "adds the permission key"),
    DifferenceKind.HOST: (LintClass.URL, "adds the URL"),
    DifferenceKind.PROGRAM: (LintClass.PROGRAM, "adds a program that reaches further:"),
}
_ADVICE = {
    LintClass.HIDDEN_UNICODE: "remove it",
    LintClass.COMMAND_SUBSTITUTION: "tell the reader to run the command instead",
    LintClass.CREDENTIAL: "leave it out, and revoke it if it is real",
    LintClass.LONG_TEXT: f"keep the file under {LONGEST_TEXT:,} characters",
    LintClass.LONG_LINE: f"break it into lines of at most {LONGEST_LINE:,}",
}


def lint_change(before: str, after: str, allow: frozenset[LintClass] = frozenset()) -> tuple[LintFinding, ...]:
    """Find what a change introduces, in the order of the new text: at most twenty, and how many more there are.

    A credential is new when the old text does not have it, anything else when the new text has it more often, so that
    moving text adds nothing. Markers of regions and characters that no encoding has are refused whatever is allowed.

    >>> for finding in lint_change("Trim cells.", "Trim cells.<!-- See x. -->"):
    ...     print(finding.message.partition(", or")[0])
    line 1 adds an HTML comment '<!-- See x. -->'; say it in visible text
    """
    known, added = Counter((match.kind, match.key) for match in _scan(before)), list[TextMatch]()
    for match in _scan(after):
        is_known = known[match.kind, match.key] > 0
        known[match.kind, match.key] -= match.kind is not LintClass.CREDENTIAL  # one that is there may be there again
        if not is_known and (match.never or match.kind not in allow):
            added.append(match)
    findings = []
    for match in added[:_MOST_FINDINGS]:
        shown, is_hidden = mask(match.text), match.kind is LintClass.HIDDEN_UNICODE
        excerpt = truncate(ascii(shown) if is_hidden else repr(shown), _LONGEST_EXCERPT)
        allowed = f"{_ADVICE.get(match.kind, _IN_WORDS)}, or allow the class {match.kind.value!r}"
        message = f"line {match.line} adds {match.what} {excerpt}; {'remove it' if match.never else allowed}"
        findings.append(LintFinding(match.kind, message, excerpt, match.line))
    if len(added) > _MOST_FINDINGS:
        last = findings[-1]
        findings[-1] = replace(last, message=f"{last.message} ({len(added) - _MOST_FINDINGS} more not shown)")
    return tuple(findings)


def find_marks(before: str, after: str, allow: frozenset[LintClass] = frozenset()) -> tuple[LintFinding, ...]:
    """Find what a change adds or removes that is not refused and that a person must look at, and changed scripts."""
    old, new = ({(one.path, one.text) for one in split_text(text) if is_script(one.path)} for text in (before, after))
    scripts = sorted({path for path, _ in old ^ new})
    found = list[LintFinding]()
    for one in capability_difference(before, after):
        if one.waits and _WAITING[one.kind][0] not in allow:
            kind, what = _WAITING[one.kind]
            excerpt = truncate(repr(mask(one.text)), _LONGEST_EXCERPT)
            found.append(LintFinding(kind, f"line {one.line} {what} {excerpt}", excerpt, one.line))
    found += (
        LintFinding(LintClass.SCRIPT, f"{path} is a script that changes; read it whole", path, 1) for path in scripts
    )
    return tuple(found)


@lru_cache(maxsize=64)
def _scan(text: str) -> tuple[TextMatch, ...]:
    """Find all matches of all classes, in the order of the text's lines; each edit is compared with one old text."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    found = [*_hidden(text)]
    for marker in _MARKER.finditer(text):
        what = "a marker of a protected region"
        found.append(TextMatch(LintClass.HTML_COMMENT, marker[0], marker.start(), marker[0], what, never=True))
    for one in find_load_commands(text):
        what = "commands run on load" if one.is_block else "a command run on load"
        found.append(TextMatch(LintClass.COMMAND_SUBSTITUTION, one.text, one.start, one.text, what))
    # What spans lines carries its offset for a line until here.
    matches = [replace(match, line=bisect_right(starts, match.line)) for match in found]
    for number, line in enumerate(_LINE_END.split(text), 1):
        matches += [replace(match, line=number) for match in _line_matches(line)]
    head = SkillDocument(text).body_start
    above = bisect_right(starts, head) - 1
    matches += [replace(match, line=match.line + above) for match in find_unseen(text[head:])]
    if len(text) > LONGEST_TEXT:
        what = f"{len(text):,} characters in all, as in"
        matches.append(TextMatch(LintClass.LONG_TEXT, str(len(text)), 1, text, what))
    return tuple(sorted(matches, key=lambda match: match.line))


def _hidden(text: str) -> Iterator[TextMatch]:
    for run in hidden_runs(text):
        broken = any("\ud800" <= character <= "\udfff" for character in run.text)
        what = f"hidden characters ({mask(run.description)})"
        yield TextMatch(LintClass.HIDDEN_UNICODE, run.text, run.start, run.text, what, never=broken)


@lru_cache(maxsize=4096)  # versions share most lines
def _line_matches(line: str) -> tuple[TextMatch, ...]:
    flat, resolved = as_read(line), without_entities(line).replace("\u00a0", " ") if "&" in line else line
    secrets, size = find_credentials(flat), len(line)
    return (
        *([TextMatch(LintClass.LONG_LINE, line, 0, line, f"a line of {size:,} characters")] * (size > LONGEST_LINE)),
        *find_carriers(line),
        *((*_hidden(resolved), *find_carriers(resolved)) if resolved != line else ()),
        *(TextMatch(LintClass.CREDENTIAL, flat[one.start : one.end], 0, f"[{one.kind}]", _KEY) for one in secrets),
    )
