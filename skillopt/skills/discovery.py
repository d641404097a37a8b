"""Find the skills of a repository among its paths, and give each a name that no other has."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from skillopt.tasks import digest_of

HOW_TO_BEGIN: Final = (
    "no skill here: a skill is a folder with a file SKILL.md, such as skills/my-skill/SKILL.md, which begins with the "
    "lines '---', 'name: my-skill', 'description: what it does and when to use it', '---'; write one, then run "
    "`skillopt init`"
)
"""What there is to say where nobody has made a skill yet."""

_LONGEST: Final = 64
"""Characters of a name, as the specification has it."""

_OTHER = re.compile(r"[^a-z0-9]+")


def skill_name(text: str) -> str:
    """Turn the name of a folder into one that a branch and a table of skillopt.toml can have.

    >>> [skill_name(text) for text in ("tidy-tables", "My_Skill 2")]
    ['tidy-tables', 'my-skill-2']
    """
    name = _OTHER.sub("-", text.lower()).strip("-") or f"skill-{digest_of(text)[:8]}"
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9].rstrip('-')}-{digest_of(text)[:8]}"


def name_skills(
    paths: Iterable[str], root_name: str = "skill", configured: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Name skills after their folders; where a name occurs twice, after their paths.

    >>> name_skills(["skills/tidy", "plugins/a/skills/sum", "plugins/b/skills/sum"])
    {'skills/tidy': 'tidy', 'plugins/a/skills/sum': 'a-sum', 'plugins/b/skills/sum': 'b-sum'}
    """
    listed = list(dict.fromkeys(paths))
    folder_names = {path: skill_name(root_name if path == "." else path.rpartition("/")[2]) for path in listed}
    count = Counter(folder_names.values())
    given = {path: skill_name(name) for path, name in (configured or {}).items() if path in folder_names}
    names = {path: name for path, name in given.items() if name == folder_names[path] or count[folder_names[path]] > 1}
    spellings: Sequence[Callable[[str], str]] = (folder_names.__getitem__, _without_generic, skill_name)
    for spell in spellings:
        spelled = {path: spell(path) for path in listed if path not in names}
        count = Counter((*names.values(), *spelled.values()))
        names |= {path: name for path, name in spelled.items() if count[name] == 1}
    for path in listed:
        if path not in names:
            own, taken = skill_name(path), set(names.values())
            numbered = (own, *(f"{own}-{number}" for number in range(2, len(listed) + 3)))
            names[path] = next(name for name in numbered if name not in taken)
    return {path: names[path] for path in listed}


def _without_generic(path: str) -> str:
    """Spell a path by the folders that tell it from others."""
    *folders, last = path.split("/")
    told = (folder for folder in folders if folder not in ("skills", "plugins", "plugin"))
    return skill_name("-".join([*told, last]))
