"""The user action `init`: write skillopt.toml for the skills that are there."""

from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.project import Project

__all__ = ["Initialized", "init"]


@dataclass(frozen=True, slots=True)
class Initialized:
    """What was written: the file, and per skill its folder and suite (empty when none was found)."""

    config: str
    created: bool
    skills: tuple[tuple[str, str, str], ...]


def init(*, folder: Path | None = None) -> Initialized:
    """Write skillopt.toml at the project's root, listing the skills found there; an existing one stays.

    Raises:
        UsageError: The file cannot be written.
    """
    project = Project.find(folder or Path.cwd())
    found = tuple((skill.name, skill.path, skill.suite) for skill in project.discover().skills)
    if project.config.exists():
        return Initialized(str(project.config), created=False, skills=found)
    aside = project.config.with_suffix(".toml.new")
    try:
        aside.write_text(_render(found), encoding="utf-8")
        aside.replace(project.config)
    except OSError as error:
        message = f"cannot write {project.config}: {error.strerror}; make the folder writable or run this elsewhere"
        raise UsageError(message) from error
    return Initialized(str(project.config), created=True, skills=found)


def _render(skills: tuple[tuple[str, str, str], ...]) -> str:
    lines = [
        "# Settings for all skills stand here, settings for one skill in its table.",
        "# Every setting and its default: docs/settings.md of skillopt-mcp.",
        'preset = "default"',
    ]
    for name, path, suite in skills:
        lines += ["", f"[skills.{name}]", f'path = "{path}"']
        lines.append(
            f'suite = "{suite}"' if suite else '# suite = "suites/…"   # docs/suite-format.md says what a suite is'
        )
    if not skills:
        lines += ["", "# [skills.my-skill]", '# path = "skills/my-skill"', '# suite = "suites/my-skill"']
    return "\n".join(lines) + "\n"
