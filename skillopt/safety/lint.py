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

from skillopt.safety.commands import find_commands
from skillopt.safety.credentials import find_credentials, mask
from skillopt.safety.disguised_text import as_read, find_encoded_text, find_mixed_letters, without_entities
from skillopt.safety.escaping import truncate
from skillopt.safety.hidden_unicode import hidden_runs
from skillopt.safety.hosts import find_addresses
from skillopt.safety.literals import code_lines
from skillopt.safety.text_classes import MARKED, LintClass, TextMatch
from skillopt.safety.unseen_text import find_carriers, find_unseen
from skillopt.skills.document import SkillDocument
from skillopt.skills.load_commands import find_load_commands
from skillopt.skills.trained_files import is_script, split_text

__all__ = ["LintFinding", "find_marks", "lint_change"]


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


_MOST_FINDINGS = 20
_LONGEST_EXCERPT = 120
_LONGEST_TEXT = 200_000
_LONGEST_LINE = 10_000
"""Characters of a line; a longer one is refused, and looked at in pieces of this length."""
_PIECE_OVERLAP = 1_000
"""Characters that a piece shares with the one before, so that what is cut in one is whole in the other."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKER = re.compile(r"<!--\s*skillopt:")

# Each pattern starts at rare text or repeats within bounds, so that matching takes linear time.
_COMMENT_END = re.compile(r"--!?>")
_DECLARATION = re.compile(r"<(?!!(?i:doctype html)>)(?:![A-Za-z\[]|\?[A-Za-z])[^<>]*")
_BLANK_ENTITIES = re.compile(
    r"(?:&(?:nbsp|e[mn]sp(?:1[34])?|thinsp|hairsp|numsp|puncsp|MediumSpace|#x?[\da-f]{2,6});[ \t]{0,3}){4,1000}",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&#?\w+;")
_LABEL_COMMENT = re.compile(r"[ \t>]{0,20}\[[^\]]{0,200}\]:[ \t]{0,20}(?:<>|#).*")
_KEY = "what looks like a credential"
_KNOWN_ONCE = (LintClass.URL, LintClass.CREDENTIAL)  # a text that has one may have it again

_ADVICE = {
    LintClass.HIDDEN_UNICODE: "remove it",
    LintClass.HTML_COMMENT: "say it in visible text, or leave it out",
    LintClass.HIDDEN_TEXT: "say it in visible text, or leave it out",
    LintClass.COMMAND_SUBSTITUTION: "tell the reader to run the command instead",
    LintClass.CREDENTIAL: "leave it out, and revoke it if it is real",
    LintClass.LONG_TEXT: f"keep the file under {_LONGEST_TEXT:,} characters",
    LintClass.LONG_LINE: f"break it into lines of at most {_LONGEST_LINE:,}",
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
    """Find what a change introduces that is not refused and that a person must look at, each changed script too."""
    old, new = ({one.path: one.text for one in split_text(text) if is_script(one.path)} for text in (before, after))
    scripts = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    changed = (
        LintFinding(LintClass.SCRIPT, f"{path} is a script that changes; read it whole", path, 1) for path in scripts
    )
    return (*(_finding(match) for match in _added(before, after, allow) if match.kind in MARKED), *changed)


def _added(before: str, after: str, allow: frozenset[LintClass]) -> list[TextMatch]:
    """List what the new text has and the old one has not, or less often."""
    known = Counter((match.kind, match.key) for match in _scan(before))
    added = []
    for match in _scan(after):
        identity = (match.kind, match.key)
        is_known = known[identity] > 0
        if match.kind not in _KNOWN_ONCE:
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
    found = [*_hidden(text), *_comments(text)]
    for one in find_load_commands(text):
        what = "commands run on load" if one.is_block else "a command run on load"
        found.append(TextMatch(LintClass.COMMAND_SUBSTITUTION, one.text, one.start, one.text, what))
    matches = [replace(match, line=bisect_right(starts, match.line)) for match in found]
    for number, line in enumerate(_LINE_END.split(text), 1):
        for piece in _pieces(line):
            matches += [replace(match, line=number) for match in _line_matches(piece)]
        if len(line) > _LONGEST_LINE:
            what = f"a line of {len(line):,} characters"
            matches.append(TextMatch(LintClass.LONG_LINE, line, number, line, what))
    head = SkillDocument(text).body_start
    above = bisect_right(starts, head) - 1
    matches += [replace(match, line=match.line + above) for match in find_unseen(text[head:])]
    if len(text) > _LONGEST_TEXT:
        what = f"{len(text):,} characters in all, as in"
        matches.append(TextMatch(LintClass.LONG_TEXT, str(len(text)), 1, text, what))
    return tuple(sorted(matches, key=lambda match: match.line))


# What spans lines is found in the whole text; these matches carry their offset for a line.


def _hidden(text: str) -> Iterator[TextMatch]:
    for run in hidden_runs(text):
        broken = any("\ud800" <= character <= "\udfff" for character in run.text)
        what = f"hidden characters ({mask(run.description)})"
        yield TextMatch(LintClass.HIDDEN_UNICODE, run.text, run.start, run.text, what, never=broken)


def _comments(text: str) -> Iterator[TextMatch]:
    """Find comments. The key of one is all of it, so that what it hides cannot change unseen."""
    starts = [match.start() for match in re.finditer("<!--", text)]
    ends = [match.span() for match in _COMMENT_END.finditer(text)]
    shown = code_lines(text) if starts else {}
    breaks = [match.start() for match in _LINE_END.finditer(text)] if shown else []
    for start, following in zip(starts, [*starts[1:], len(text)], strict=False):
        index = bisect_right(ends, (start + 2, -1))
        if index < len(ends) and ends[index][0] < following:
            key = comment = text[start : ends[index][1]]
        else:  # Perhaps code that shows how a comment starts: known by what stands around it.
            comment = _LINE_END.split(text[start:following], maxsplit=1)[0]
            key = text[max(start - 1, 0) : start] + comment
        first, last = (bisect_right(breaks, at) + 1 for at in (start, start + len(comment)))
        marker = _MARKER.search(comment) is not None
        if not marker and all(line in shown for line in range(first, last + 1)):
            continue
        what = "a marker of a protected region" if marker else "an HTML comment"
        yield TextMatch(LintClass.HTML_COMMENT, key, start, comment, what, never=marker)


# What stands on one line is found line by line, and remembered, because versions share most lines.


def _pieces(line: str) -> Iterator[str]:
    """Cut a line that is too long, so that no pattern sees more than so many characters at once."""
    yield line[:_LONGEST_LINE]
    for start in range(_LONGEST_LINE, len(line), _LONGEST_LINE - _PIECE_OVERLAP):
        yield line[start - _PIECE_OVERLAP : start + _LONGEST_LINE - _PIECE_OVERLAP]


@lru_cache(maxsize=4096)
def _line_matches(line: str) -> tuple[TextMatch, ...]:
    flat = as_read(line)
    secrets = find_credentials(flat)
    return (
        *_markup(line),
        *find_carriers(line),
        *find_mixed_letters(line),
        *find_addresses(flat),
        *(TextMatch(LintClass.CREDENTIAL, flat[one.start : one.end], 0, f"[{one.kind}]", _KEY) for one in secrets),
        *find_commands(flat),
        *find_encoded_text(line),
        *(find_encoded_text(flat) if flat != line else ()),
    )


def _markup(line: str) -> Iterator[TextMatch]:
    for match in _DECLARATION.finditer(line):
        yield TextMatch(LintClass.HTML_COMMENT, match[0], 0, match[0], "markup that is not shown")
    if "&" in line:
        yield from _entities(line)
    if label := _LABEL_COMMENT.match(line):
        yield TextMatch(LintClass.HTML_COMMENT, label[0], 0, label[0], "a link label that is not shown")


def _entities(line: str) -> Iterator[TextMatch]:
    """Find entities that stand for what is not seen."""
    for run in hidden_runs(without_entities(line)):
        what = f"hidden characters, written as entities ({mask(run.description)})"
        yield TextMatch(LintClass.HIDDEN_UNICODE, run.text, 0, run.text, what)
    for match in _BLANK_ENTITIES.finditer(line):
        if len(set(_ENTITY.findall(match[0]))) > 1:
            yield TextMatch(LintClass.HIDDEN_TEXT, match[0], 0, match[0], "blanks that can carry hidden text,")
