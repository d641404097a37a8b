"""A skill as it is served: its files with digests, its frontmatter, and what hosts would refuse of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from skillopt.errors import SkillError
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import MAX_SKILL_BYTES, files_of, skill_from_files
from skillopt.skills.frontmatter import Fields, Frontmatter, Value, read_frontmatter
from skillopt.tasks import File

__all__ = ["ServedFile", "ServedSkill", "make_served", "read_head"]


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file of a served skill: its path in the skill's folder, its bytes and their SHA-256."""

    path: str
    content: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """An accepted version of a skill, or its committed text before there is one."""

    name: str
    version: str
    trained: bool
    at: str
    description: str
    frontmatter: Mapping[str, object]
    files: tuple[ServedFile, ...]
    problem: str

    def file(self, path: str) -> ServedFile | None:
        """Return a file by its path."""
        return next((file for file in self.files if file.path == path), None)


def make_served(name: str, commit: str, at: str, files: tuple[File, ...]) -> ServedSkill:
    """Make a served skill of the files of its folder."""
    skill = skill_from_files(name, files)
    shipped = files_of(skill)
    size = sum(len(file.content) for file in shipped)
    if size > MAX_SKILL_BYTES:
        raise SkillError(f"skill {name!r}: expected at most {MAX_SKILL_BYTES} bytes, found {size}; it is not served")
    frontmatter, problem = read_head(name, skill.document)
    fields = _mapping(frontmatter.fields) if frontmatter else {}
    if not _fits_json(fields):
        frontmatter, fields, problem = None, {}, "expected frontmatter that JSON can hold"
    served = (ServedFile(file.path, file.content, f"sha256:{sha256(file.content).hexdigest()}") for file in shipped)
    about = (frontmatter.description if frontmatter else None) or ""
    return ServedSkill(name, commit, bool(at), at, about, fields, tuple(served), problem)


def read_head(name: str, document: SkillDocument) -> tuple[Frontmatter | None, str]:
    """Read the frontmatter of a skill, and say why hosts do not take it for the skill of a name, empty when they do."""
    try:
        found = read_frontmatter(document)
    except SkillError as error:
        return None, str(error)
    if found is None or not found.name or not found.description:
        return found, "expected frontmatter with a name and a description"
    return found, "" if found.name == name else f"its frontmatter names it {found.name[:64]!r}"


def _fits_json(fields: Mapping[str, object]) -> bool:
    try:
        json.dumps(fields, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except ValueError:
        return False
    return True


def _mapping(fields: Fields) -> dict[str, object]:
    return {field.name: _plain(field.value) for field in fields.items}


def _plain(value: Value) -> object:
    if isinstance(value, Fields):
        return _mapping(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
