"""Validate a skill against the Agent Skills specification and the limits of each client.

Each finding has a line of the SKILL.md.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain

from skillopt.errors import SkillError
from skillopt.skills.document import Skill, SkillDocument, estimate_tokens
from skillopt.skills.frontmatter import Frontmatter, find_dropped_line, read_frontmatter
from skillopt.skills.load_commands import find_load_commands
from skillopt.skills.plain_yaml import find_cut_values
from skillopt.skills.trained_files import parse_file


class Level(StrEnum):
    """Whose rule it is: the specification's, a client's, or the optimizer's own."""

    SPECIFICATION = "specification"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    OPTIMIZER = "optimizer"


class Severity(StrEnum):
    """An `error` is refused or not loaded at its level; a `warning` loads, but not as meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a skill."""

    level: Level
    severity: Severity
    line: int
    message: str

    def __str__(self) -> str:
        """Show it as a compiler does."""
        return f"SKILL.md:{self.line}: {self.severity} ({self.level}): {self.message}"


_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_NAME, _MAX_DESCRIPTION, _MAX_COMPATIBILITY = 64, 1024, 500
_MAX_BODY_LINES, _MAX_BODY_TOKENS = 500, 5000
_SPECIFIED = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_CLAUDE_KEYS = (
    *("disable-model-invocation", "user-invocable", "context", "effort", "shell", "when_to_use", "argument-hint"),
    *("arguments", "disallowed-tools", "model", "agent", "hooks", "paths"),
)
_CLAUDE_LISTING = 1536  # characters, as Claude Code documents it
_MOST_SHOWN = 60  # characters: a finding is one line
_NO_DESCRIPTION = "found no description; the first heading or paragraph is listed instead, so say when to use the skill"
_NO_FRONTMATTER = (
    "expected frontmatter with name and description, found none; the specification asks for it: start the file with "
    "'---', both fields, '---'"
)
_DROPPED = (
    "expected YAML, found a line at which it ends, so Claude Code drops all of the frontmatter, the description too; "
    "indent lines that go on with a value, or write it on one line in quotes"
)
_UNLISTED = "expected a readable frontmatter, found none, so the skill is not listed; repair it"
_MOVE = "move detail to files in references/"


def validate(skill: Skill) -> tuple[Finding, ...]:
    """Judge a skill by the specification and by each client."""
    document = skill.document
    findings = [_warning(1, reason, Level.OPTIMIZER) for reason in skill.left_out]
    findings += _encoding(document)
    if document.place.free:
        return tuple(findings)
    if dropped := find_dropped_line(document):
        findings.append(_error(dropped, _DROPPED, Level.CLAUDE_CODE))
    try:
        frontmatter = read_frontmatter(document)
    except SkillError as error:
        _, line, problem = str(error).split(":", 2)
        findings += (_error(int(line), problem.strip()), _error(int(line), _UNLISTED, Level.CODEX))
    else:
        findings += chain(_body(document), _regions(document))
        if frontmatter is None:
            findings += (
                _error(1, _NO_FRONTMATTER),
                _error(1, _UNLISTED, Level.CODEX),
                _warning(1, _NO_DESCRIPTION, Level.CLAUDE_CODE),
            )
        else:
            rules = (_name(skill, frontmatter), _description(frontmatter), _optional(frontmatter), _keys(frontmatter))
            findings += chain(*rules, _claude(frontmatter), _cut(document, frontmatter))
    return tuple(sorted(findings, key=lambda finding: (finding.line, finding.level, finding.severity)))


def check_trainable(skill: Skill) -> None:
    """Refuse a skill that cannot be trained at all; what a client merely dislikes does not stop training.

    A frontmatter that is missing or that only some clients can read does not either: edits leave it alone.
    """
    document = skill.document
    if document.frontmatter is None:
        read_frontmatter(document)
    for part in document.parts:
        one = document.file(part.path)
        for finding in chain(_encoding(one), _regions(one)):
            if finding.severity is Severity.ERROR:
                raise SkillError(f"{skill.name}/{part.path}:{finding.line}: {finding.message}")
        if problem := parse_file(part.path, part.text):
            raise SkillError(f"{skill.name}/{part.path}: {problem}; mend it before it is trained")
    folders = tuple(path.rstrip("/") for path in document.trained)
    if lost := next((reason for reason in skill.left_out if reason.startswith(folders)), ""):
        raise SkillError(f"{skill.name}: expected the files that are trained in its folder; {lost}")


def _error(line: int, message: str, level: Level = Level.SPECIFICATION) -> Finding:
    return Finding(level, Severity.ERROR, line, message)


def _warning(line: int, message: str, level: Level = Level.SPECIFICATION) -> Finding:
    return Finding(level, Severity.WARNING, line, message)


def _encoding(document: SkillDocument) -> Iterator[Finding]:
    if document.text.startswith("\ufeff"):
        yield _warning(1, "expected '---' as the first bytes, found a byte order mark; save the file without one")
    broken = re.search("[\ud800-\udfff]", document.text)
    if broken:
        byte = ord(broken[0]) & 0xFF
        yield _error(
            document.line_of(broken.start()), f"expected UTF-8, found the byte 0x{byte:02x}; save the file as UTF-8"
        )


def _body(document: SkillDocument) -> Iterator[Finding]:
    first = document.line_of(document.body_start)
    if not document.body.strip():
        yield _warning(first, "expected instructions after the frontmatter, found none; write what the skill does")
        return
    last = document.line_of(document.body_start + len(document.body.rstrip()) - 1)
    if last - first + 1 >= _MAX_BODY_LINES:
        message = f"expected a body under {_MAX_BODY_LINES} lines, found {last - first + 1}; {_MOVE}"
        yield _warning(first + _MAX_BODY_LINES - 1, message)
    tokens = estimate_tokens(document.body)
    if tokens >= _MAX_BODY_TOKENS:
        message = f"expected a body under {_MAX_BODY_TOKENS} tokens, found about {tokens} (estimated); {_MOVE}"
        yield _warning(first, message)
    for found in find_load_commands(document.body):
        shown = found.text.strip().splitlines()[0][:_MOST_SHOWN]
        message = f"{shown!r} runs as a command whenever the skill loads; remove the '!' unless that is meant"
        yield _warning(document.line_of(document.body_start + found.start), message, Level.CLAUDE_CODE)


def _regions(document: SkillDocument) -> Iterator[Finding]:
    for region in document.regions:
        if not region.closed:
            message = (
                f"expected an end to the protected region {region.name!r}, found none, so nothing after it can be "
                f"edited; add the line <!-- skillopt:end {region.name} --> where it ends"
            )
            yield _error(document.line_of(region.start), message, Level.OPTIMIZER)


def _name(skill: Skill, frontmatter: Frontmatter) -> Iterator[Finding]:
    line, name = frontmatter.line_of("name"), frontmatter.text("name")
    if name is None:
        found = f"found none; add 'name: {skill.name}'"
        if "name" in frontmatter.values:
            found = f"found {_kind(frontmatter.values['name'])}; put it in quotes"
        yield _error(line, f"expected a name that is text, {found}")
        return
    if not _NAME.fullmatch(name):
        message = f"expected a name of a-z, 0-9 and single hyphens inside, found {name!r}; rename it"
        yield _error(line, message)
    if len(name) > _MAX_NAME:
        yield _error(line, f"expected a name of at most {_MAX_NAME} characters, found {len(name)}; shorten it")
    if name != skill.name:
        yield _error(line, f"expected the folder's name {skill.name!r}, found {name!r}; make them the same")


def _description(frontmatter: Frontmatter) -> Iterator[Finding]:
    text, line = (frontmatter.text("description") or "").strip(), frontmatter.line_of("description")
    if not text:
        known = "description" in frontmatter.values
        found = f"found {_kind(frontmatter.values['description'])}" if known else "found none"
        yield _error(line, f"expected a description that is text, {found}; say what the skill does and when to use it")
        yield _error(line, f"expected a description, {found}, so the skill is not listed; add one", Level.CODEX)
        return
    if len(text) > _MAX_DESCRIPTION:
        yield _error(
            line, f"expected a description of at most {_MAX_DESCRIPTION} characters, found {len(text)}; shorten it"
        )


def _cut(document: SkillDocument, frontmatter: Frontmatter) -> Iterator[Finding]:
    """Find texts that a comment cuts."""
    cut = set(find_cut_values(document.frontmatter or ""))
    for name in ("description", "when_to_use"):
        if (text := frontmatter.text(name)) is not None and text in cut:
            message = f"the text ends with {text[-_MOST_SHOWN:]!r}, for ' #' begins a comment; put it in quotes"
            yield _warning(frontmatter.line_of(name), message)


def _optional(frontmatter: Frontmatter) -> Iterator[Finding]:
    values = frontmatter.values
    for name in (name for name in ("license", "compatibility", "allowed-tools") if name in values):
        value, line = values[name], frontmatter.line_of(name)
        if not isinstance(value, str):
            listed = name == "allowed-tools" and isinstance(value, list)
            message = f"expected {name} to be text, found {_kind(value)}; write it on one line"
            yield _warning(line, f"{message} with spaces between") if listed else _error(line, message)
        elif name == "compatibility" and not 1 <= len(value) <= _MAX_COMPATIBILITY:
            message = f"expected compatibility of 1 to {_MAX_COMPATIBILITY} characters, found {len(value)}; change it"
            yield _error(line, message)
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict):
        message = f"expected metadata to map keys to text, found {_kind(metadata)}; write 'key: \"text\"' lines"
        yield _error(frontmatter.line_of("metadata"), message)
        return
    for name, value in metadata.items():
        if not isinstance(value, str):
            message = f"expected metadata {name!r} to be text, found {_kind(value)}; put it in quotes"
            yield _warning(frontmatter.line_of("metadata", name), message)


def _keys(frontmatter: Frontmatter) -> Iterator[Finding]:
    """Summarise the keys that nobody knows: most skills have some, and they do no harm."""
    unknown = [name for name in frontmatter.values if name not in (*_SPECIFIED, *_CLAUDE_KEYS)]
    if unknown:
        # From a likeness of 0.8 on an unknown key is taken for a mistyped one.
        near = {name: get_close_matches(name, (*_SPECIFIED, *_CLAUDE_KEYS), 1, 0.8) for name in unknown}
        names = ", ".join(f"{name} (did you mean {found[0]!r}?)" if found else name for name, found in near.items())
        yield _warning(frontmatter.line_of(unknown[0]), f"unknown keys: {names}; 'metadata' is the place for own ones")


def _claude(frontmatter: Frontmatter) -> Iterator[Finding]:
    """Check what Claude Code makes of a skill that is hidden from the model, or has no or a long description."""
    hidden = "disable-model-invocation"
    if frontmatter.values.get(hidden) is True:
        message = (
            "hides the skill from the model, so it is used only when a person names it; remove it unless that is meant"
        )
        yield _warning(frontmatter.line_of(hidden), f"'{hidden}: true' {message}", Level.CLAUDE_CODE)
    size = len(frontmatter.text("description") or "") + len(frontmatter.text("when_to_use") or "")
    if not frontmatter.text("description"):
        yield _warning(frontmatter.line_of("description"), _NO_DESCRIPTION, Level.CLAUDE_CODE)
    elif size > _CLAUDE_LISTING:
        message = f"description and when_to_use are cut after {_CLAUDE_LISTING} of {size} characters; shorten them"
        yield _warning(frontmatter.line_of("description"), message, Level.CLAUDE_CODE)


def _kind(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "nothing"
        case str():
            return repr(value[:60])
        case _:
            return f"{str(value).lower()} ({'true or false' if isinstance(value, bool) else 'a number'})"
