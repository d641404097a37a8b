"""URIs of served skills: write and parse them.

    skill://rows/SKILL.md                       a file of the newest accepted version
    skill://_versions/0a1b…/rows/SKILL.md       a file of an older one

A client can name nothing else. A path is looked up among the files of a version, never opened, and is
compared as it is written, so no spelling of `..` leads anywhere. The folder of an older version ends
with the skill's name because the Skills extension asks for that; `_versions` can be no skill's name.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

__all__ = ["Address", "read_address", "skill_address"]


_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_URI = re.compile(
    rf"skill://(?:_versions/(?P<version>[0-9a-f]{{7,64}})/)?(?P<name>{_NAME})(?:/(?P<path>.+))?", re.ASCII
)
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Address:
    """What a URI names."""

    skill: str
    version: str | None = None
    path: str = ""

    def __str__(self) -> str:
        """Write the URI."""
        root = f"skill://_versions/{self.version}/{self.skill}" if self.version else f"skill://{self.skill}"
        return f"{root}/{self.path}" if self.path else root


def skill_address(skill: str, path: str, version: str | None = None) -> Address:
    """Address a file or folder of a skill by its path as git has it."""
    return Address(skill, version, _quoted(path))


@lru_cache(maxsize=4096)  # a listing names the same files again and again
def _quoted(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"), safe="/-._~")


def read_address(uri: str) -> Address | None:
    """Read a URI; None when no skill could have it."""
    found = _URI.fullmatch(uri) if len(uri) <= _LONGEST else None
    return Address(found["name"], found["version"], found["path"] or "") if found else None
