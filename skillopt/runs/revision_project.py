"""A project at a git revision, read as it was committed: its configuration, its skills and their suites."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from skillopt.agent_table import find_agent_table
from skillopt.errors import SkillError
from skillopt.project import CONFIG, Project, Selection, Target
from skillopt.review.result import ChangeFinding, Weight
from skillopt.runs.plan import read_version
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.trained_files import SkillPlace
from skillopt.tasks import File
from skillopt.versions.objects import read_found
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import FolderChange, write_files


class RevisionProject:
    """A project at a revision."""

    def __init__(self, real: Project, repository: Repository, commit: str, folder: Path) -> None:
        self.commit = commit
        self._real = real
        self._repository = repository
        self._folder = folder.resolve()

    @cached_property
    def project(self) -> Project:
        """Read the configuration."""
        (content,) = read_found(self._repository.root, [f"{self.commit}:{CONFIG}"])
        if content is None:
            return Project(self._folder, self._real.entries, self._real.values)
        write_files([File(CONFIG, content)], self._folder)
        return Project.read(self._folder)

    @cached_property
    def commits_config(self) -> bool:
        """Whether the configuration is in the repository."""
        return read_found(self._repository.root, [f"{self.commit}:{CONFIG}"])[0] is not None

    def skill(self, path: str) -> Skill:
        """Read the skill in a folder of the repository."""
        return read_version(self._repository, self._name(path), self.commit, path)

    def changed_documents(self, old: "RevisionProject") -> tuple[FolderChange, ...]:
        """List the free documents that differ from those of an older revision."""
        changes = []
        for place in self.project.documents():
            before, after = ({one.path: one.content for one in side.files(place)} for side in (old, self))
            files = tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))
            changes += [FolderChange(place if before else None, place if after else None, files)] if files else []
        return tuple(changes)

    def files(self, path: str) -> tuple[File, ...]:
        """Read the files of a skill or a free document; none where it cannot be read."""
        with suppress(SkillError):
            return self.skill(path).shipped
        return ()

    def target(self, path: str, flags: Mapping[str, object], suite: Path | None) -> Target:
        """Return a skill with its suite and settings."""
        place = self.project.root / SkillPlace.parse(path).folder
        place.mkdir(parents=True, exist_ok=True)
        write_files(self._repository.read_folder(self.commit, path), place)
        named = self.project.documents().get(path, str(self.project.root / path))
        found = self.project.target(Selection(named, flags, suite, self.project.root))
        target = replace(found, name=self._name(path))
        beside = self._real.find_suite(target.name, self._real.root / path) if target.suite_path is None else None
        if beside is not None and not beside.is_relative_to(self._real.root / path):
            target = replace(target, suite_path=self._folder / beside.relative_to(self._real.root))
        if suite is None and target.suite_path is not None:
            self._lay_out_suite(target.suite_path)
        tasks = target.suite_path
        if tasks is None or tasks.exists():
            return target
        # The suite of the work tree where the revision has none: it is kept out of the repository.
        inside = tasks.relative_to(self._folder) if tasks.is_relative_to(self._folder) else tasks
        return replace(target, suite_path=self._real.root / inside)

    def suite_files(self, target: Target) -> tuple[tuple[str, bytes], ...]:
        """List the files that the suite of a target is made of, to compare them."""
        path = target.suite_path
        if path is None or not path.exists():
            return ()
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        return tuple((file.relative_to(path).as_posix(), file.read_bytes()) for file in files)

    def error_text(self, error: Exception) -> str:
        """Return the text of an error with paths of the repository instead of the temporary folder."""
        return str(error).replace(f"{self._folder}/", "")

    def _name(self, path: str) -> str:
        return self.project.documents().get(path) or PurePosixPath(path).name or self._repository.root.name

    def _lay_out_suite(self, path: Path) -> None:
        if path.exists() or not path.is_relative_to(self._folder):
            return
        inside = path.relative_to(self._folder)
        for candidate in (inside, inside.parent):
            files = self._repository.read_folder(self.commit, candidate.as_posix())
            if files:
                write_files(files, self._folder / candidate)
                return


def find_changed_agent(
    old: RevisionProject, new: RevisionProject, before: Settings | None, now: Settings, flags: Mapping[str, object]
) -> tuple[ChangeFinding, ...]:
    """Refuse a change that also changes harness, table or sandbox; a flag makes them the same."""
    if not old.commits_config and not new.commits_config:
        return ()  # it is kept out of the repository: whoever runs this wrote it
    if not old.commits_config:
        before = Project(old.project.root, {}, {}).settings({"harness": now.harness, **flags})
    before = before or old.project.settings(flags)
    old_kinds, kinds = ([name.partition("/")[0] for name in one.targets] for one in (before, now))
    tables = {f"[agents.{kind}]": [find_agent_table(kind, one.agents) for one in (before, now)] for kind in kinds}
    pairs = {"harness": (old_kinds, kinds), **tables, "sandbox": (before.sandbox, now.sandbox)}
    changed = ", ".join(name for name, (one, other) in pairs.items() if one != other)
    if not changed:
        return ()
    told = f"the agent changed ({changed}): merge that in a change of its own before skills are measured with it"
    return (ChangeFinding(CONFIG, 1, Weight.REFUSE, "agent changed", told, person=True),)
