"""What a patch changes: its files by kind, their lines, the tests among them, and the names that are new."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|specs?)/|(?:^|/)(?:test_[^/]*|conftest)\.py$|[._-](?:test|spec|tests)\.\w+$"
    r"|(?:Test|Tests|Spec)\.(?:java|kt|cs|scala|swift)$"
)
_CODE: Final = re.compile(
    r"\.(?:py|pyx|js|jsx|mjs|cjs|ts|tsx|go|rs|rb|java|kt|cs|php|c|cc|cpp|h|hpp|swift|scala|ex|exs|lua|pl|r|jl|sh)$",
    re.IGNORECASE,
)
_NO_CODE: Final = re.compile(r"(?:^|/)(?:docs?|examples?|benchmarks?|\.github|ci)/|(?:^|/)(?:setup|noxfile|conf)\.py$")
_NEWS: Final = re.compile(
    r"(?:^|/)(?:change(?:s|log)?|news|history|releases?)[\w.-]*(?:/|$)|newsfragments?/|releasenotes/", re.IGNORECASE
)
DEFINITION: Final = re.compile(
    r"^\s*(?:export |pub(?:\(\w+\))? |async |static |public |private |default )*"
    r"(?:def|class|function|fn|func|interface|struct|trait|type) (?P<name>\w+)"
)
_ASSIGNED: Final = re.compile(r"^(?P<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")
NAME: Final = re.compile(r"[A-Za-z_]\w+")
_LONGEST_SIGNATURE: Final = 12  # lines; a bracket in a string may never be closed


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Lines that a patch removed from a file and added to it."""

    path: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


def side_of(path: str) -> str:
    """Say what a file is: `test`, `code`, `news`, or empty for anything else.

    >>> [side_of(name) for name in ("tests/test_a.py", "src/a.py", "CHANGES.rst", "docs/conf.py", "a_test.go")]
    ['test', 'code', 'news', '', 'test']
    """
    if _TEST.search(path):
        return "test"
    if _NEWS.search(path) and not _CODE.search(path):
        return "news"
    return "code" if _CODE.search(path) and not _NO_CODE.search(path) else ""


def read_patch(patch: str) -> tuple[ChangedLines, ...]:
    """Read a patch without lines around the changes."""
    found = []
    for part in re.split(r"^diff --git .*$", patch, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n@@")
        names = re.findall(r"^(?:\+\+\+ b/|--- a/)(.*)$", head, re.MULTILINE)
        if names and body:
            lines = body.splitlines()[1:]
            removed = tuple(line[1:] for line in lines if line.startswith("-"))
            # An empty line keeps apart what was added in different places.
            added = tuple("" if line.startswith("@@ ") else line[1:] for line in lines if line.startswith(("+", "@@ ")))
            found.append(ChangedLines(names[-1].rstrip("\t"), removed, added))
    return tuple(found)


def defined_names(lines: Iterable[str]) -> set[str]:
    """Return the names that lines of code define."""
    found = (
        DEFINITION.match(line) or re.match(r"^\s*(?:self\.)?(?P<name>\w+)\s*(?::[^=]+)?=(?!=)", line) for line in lines
    )
    return {one["name"] for one in found if one}


def new_names(one: ChangedLines, wanted: Collection[str], removed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the signatures of names that are wanted and new, or new in form, each with the start of its docstring."""
    gone, before = {squeezed(line) for line in removed}, {name for line in removed for name in NAME.findall(line)}
    for at, line in enumerate(one.added):
        found = DEFINITION.match(line) or _ASSIGNED.match(line)
        if not found or found["name"] not in wanted or squeezed(line) in gone or found["name"].startswith("test"):
            continue
        if found.re is DEFINITION:
            signature, end = _signature(one.added, at)
            yield signature, _docstring(one.added, end + 1)
        elif found["name"] not in before:
            yield found["name"], ""


def squeezed(line: str) -> str:
    """Leave out all white space."""
    return "".join(line.split())


def _signature(lines: Sequence[str], at: int) -> tuple[str, int]:
    """Return a definition on one line, and the line where it ends."""
    text, end = lines[at].strip(), at
    while text.count("(") > text.count(")") and end + 1 < len(lines) and end - at < _LONGEST_SIGNATURE:
        end += 1
        text = f"{text} {lines[end].strip()}"
    if text.count("(") > text.count(")"):
        return f"{text.partition('(')[0]}(…)", end
    flat = re.sub(r"\(\s+", "(", re.sub(r",?\s+\)", ")", text))
    return flat.rstrip(" {:"), end


def _docstring(lines: Sequence[str], at: int) -> str:
    """Return the first paragraph of a docstring that begins at a line, empty for none."""
    if at >= len(lines) or not (opened := re.match(r'\s*[rRuU]?("""|\'\'\')', lines[at])):
        return ""
    text = "\n".join(lines[at:])[len(opened[0]) :].partition(opened[1])[0]
    first = " ".join(re.split(r"\n\s*\n", text.strip())[0].split())[:300]
    return "" if first.startswith("..") else first
