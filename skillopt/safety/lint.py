"""Lint of a change to a skill: classes of text that may not be added unless the user allows them.

Whole documents are compared, so text that two harmless edits form together is found. Matching sees through
entities, escapes, full-width letters and hidden characters, and takes time in proportion to the text's length.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from skillopt.safety.capabilities import DifferenceKind, capability_difference
from skillopt.safety.credentials import find_credentials, mask
from skillopt.safety.disguised_text import as_read, find_encoded_text, find_mixed_letters, without_entities
from skillopt.safety.escaping import truncate
from skillopt.safety.hidden_unicode import hidden_runs
from skillopt.safety.text_classes import LONGEST_LINE, LONGEST_TEXT, MARKED, LintClass, TextMatch
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

# Each pattern starts at rare text or repeats within bounds, so that matching takes linear time.
_MARKER = re.compile(r"<!--\s*skillopt:[^\n]{0,200}?(?:--!?>|$)", re.MULTILINE)
_FETCH = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|base64|openssl|xxd)"
_LEAD = r"(?:sudo\s{1,5})?(?:/(?:usr/)?bin/)?(?:env\s{1,5})?"
_SHELL = rf"{_LEAD}(?:ba|z|da|k|a|fi|c|tc)?sh"
_INTERPRETER = rf"(?:{_SHELL}|{_LEAD}(?:python[\d.]{{0,5}}|perl|ruby|node|php|pwsh|powershell|iex|invoke-expression))"
_RUN_UNREAD = re.compile(
    rf"(?:\b{_FETCH}\s[^|]{{1,400}}\|&?\s{{0,20}}{_INTERPRETER}|(?:[^|\s]|^)\s{{0,20}}\|&?\s{{0,20}}{_SHELL})"
    r"(?=\s*(?:$|[`\"';&)<]|-|/dev/stdin))"
    rf"|(?:\b(?:{_INTERPRETER}|eval|source|exec)\b|(?<![^\s;&|(`])\.\s)[^|;]{{0,40}}(?:<\(|\$\(|`|\()\s{{0,10}}{_FETCH}\s",
    re.IGNORECASE,
)
_ROW_BARS = 2  # from which on a line that begins with one is the row of a table
_KEY = "what looks like a credential"

_WAITING = {
    DifferenceKind.REMOVED: (LintClass.REMOVED_RULE, "removes the rule"),
    DifferenceKind.FRONTMATTER: (LintClass.FRONTMATTER, "adds to the frontmatter"),
    DifferenceKind.PERMISSION: (LintClass.PERMISSION_KEY, "adds the permission key"),
    DifferenceKind.HOST: (LintClass.URL, "adds the URL"),
    DifferenceKind.PROGRAM: (LintClass.PROGRAM, "adds a program that reaches further:"),
    DifferenceKind.SETTINGS: (LintClass.SENSITIVE_PATH, "adds a path to secrets or settings"),
}

_ADVICE = {
    LintClass.HIDDEN_UNICODE: "remove it",
    LintClass.HTML_COMMENT: "say it in visible text, or leave it out",
    LintClass.HIDDEN_TEXT: "say it in visible text, or leave it out",
    LintClass.COMMAND_SUBSTITUTION: "tell the reader to run the command instead",
    LintClass.CREDENTIAL: "leave it out, and revoke it if it is real",
    LintClass.LONG_TEXT: f"keep the file under {LONGEST_TEXT:,} characters",
    LintClass.LONG_LINE: f"break it into lines of at most {LONGEST_LINE:,}",
}


def lint_change(before: str, after: str, allow: frozenset[LintClass] = frozenset()) -> tuple[LintFinding, ...]:
    """Find what a change introduces, in the order of the new text.

    A URL or credential is new when the old text does not have it. Anything else is new when the
    new text has it more often, so that moving text adds nothing.

    >>> for finding in lint_change("Trim cells.", "Trim cells.<!-- See x. -->"):
    ...     print(finding.message.partition(", or")[0])
    line 1 adds an HTML comment '<!-- See x. -->'; say it in visible text

    The first twenty findings are given. Markers of protected regions and characters that no encoding has are refused
    whatever classes are allowed.
    """
    added = [match for match in _added(before, after, allow) if match.kind not in MARKED]
    findings = [_finding(match) for match in added[:_MOST_FINDINGS]]
    if len(added) > _MOST_FINDINGS:
        last = findings[-1]
        findings[-1] = replace(last, message=f"{last.message} ({len(added) - _MOST_FINDINGS} more not shown)")
    return tuple(findings)


def find_marks(before: str, after: str, allow: frozenset[LintClass] = frozenset()) -> tuple[LintFinding, ...]:
    """Find what a change adds or removes that is not refused and that a person must look at, and changed scripts."""
    old, new = ({one.path: one.text for one in split_text(text) if is_script(one.path)} for text in (before, after))
    scripts = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    found = [_finding(match) for match in _added(before, after, allow) if match.kind in MARKED]
    for one in capability_difference(before, after):
        if one.waits and _WAITING[one.kind][0] not in allow:
            kind, what = _WAITING[one.kind]
            excerpt = truncate(repr(mask(one.text)), _LONGEST_EXCERPT)
            found.append(LintFinding(kind, f"line {one.line} {what} {excerpt}", excerpt, one.line))
    found += (
        LintFinding(LintClass.SCRIPT, f"{path} is a script that changes; read it whole", path, 1) for path in scripts
    )
    return tuple(found)


def _added(before: str, after: str, allow: frozenset[LintClass]) -> list[TextMatch]:
    """List what the new text has and the old one has not, or less often."""
    known = Counter((match.kind, match.key) for match in _scan(before))
    added = []
    for match in _scan(after):
        identity = (match.kind, match.key)
        is_known = known[identity] > 0
        if match.kind is not LintClass.CREDENTIAL:  # a text that has one may have it again
            known[identity] -= 1
        if not is_known and (match.never or match.kind not in allow):
            added.append(match)
    return added


def _finding(match: TextMatch) -> LintFinding:
    shown = mask(match.text)
    excerpt = truncate(ascii(shown) if match.kind is LintClass.HIDDEN_UNICODE else repr(shown), _LONGEST_EXCERPT)
    message = f"line {match.line} adds {match.what} {excerpt}"
    if match.kind not in MARKED:
        advice = "remove it" if match.never else f"{_ADVICE[match.kind]}, or allow the class {match.kind.value!r}"
        message = f"{message}; {advice}"
    return LintFinding(match.kind, message, excerpt, match.line)


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
    matches = [replace(match, line=bisect_right(starts, match.line)) for match in found]
    lines = _LINE_END.split(text)
    for number, line in enumerate(lines, 1):
        if ("|" in line or "(" in line) and (command := find_piped_command(line)):
            matches.append(TextMatch(LintClass.PROGRAM, command, number, command, "a command whose input is run:"))
        matches += [replace(match, line=number) for match in _line_matches(line)]
        if len(line) > LONGEST_LINE:
            what = f"a line of {len(line):,} characters"
            matches.append(TextMatch(LintClass.LONG_LINE, line, number, line, what))
    head = SkillDocument(text).body_start
    above = bisect_right(starts, head) - 1
    matches += [replace(match, line=match.line + above) for match in find_unseen(text[head:])]
    if len(text) > LONGEST_TEXT:
        what = f"{len(text):,} characters in all, as in"
        matches.append(TextMatch(LintClass.LONG_TEXT, str(len(text)), 1, text, what))
    return tuple(sorted(matches, key=lambda match: match.line))


# What spans lines is found in the whole text; these matches carry their offset for a line.


def _hidden(text: str) -> Iterator[TextMatch]:
    for run in hidden_runs(text):
        broken = any("\ud800" <= character <= "\udfff" for character in run.text)
        what = f"hidden characters ({mask(run.description)})"
        yield TextMatch(LintClass.HIDDEN_UNICODE, run.text, run.start, run.text, what, never=broken)


def find_piped_command(line: str) -> str:
    """Find the command on a line whose input is run as a program; empty where there is none."""
    flat = as_read(line[:LONGEST_LINE])
    is_row = flat.lstrip().startswith("|") and flat.count("|") >= _ROW_BARS
    found = None if is_row else _RUN_UNREAD.search(flat)
    return found[0].strip() if found else ""


# What stands on one line is found line by line, and remembered, because versions share most lines.


@lru_cache(maxsize=4096)
def _line_matches(line: str) -> tuple[TextMatch, ...]:
    flat, resolved = as_read(line), without_entities(line).replace("\u00a0", " ") if "&" in line else line
    secrets = find_credentials(flat)
    return (
        *find_carriers(line),
        *((*_hidden(resolved), *find_carriers(resolved)) if resolved != line else ()),
        *find_mixed_letters(line),
        *(TextMatch(LintClass.CREDENTIAL, flat[one.start : one.end], 0, f"[{one.kind}]", _KEY) for one in secrets),
        *find_encoded_text(line),
        *(find_encoded_text(flat) if flat != line else ()),
    )
