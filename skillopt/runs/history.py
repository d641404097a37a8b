"""History of a skill, read from git: its versions and draft, what people refused, and two versions compared."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from skillopt.errors import RemoteError, SkilloptError, UsageError
from skillopt.execution.records import earlier_looks, recorded_acts
from skillopt.execution.runner import RunObserver
from skillopt.figures import name_grade, read_headline
from skillopt.gate.grades import GRADE, Grade, Grading
from skillopt.loop.decision import Released
from skillopt.loop.memory import PeoplesRefusal
from skillopt.project import Project, Selection
from skillopt.runs.plan import RunPlan, read_version
from skillopt.runs.run import draft_obstacle, grade_of, open_draft, peoples_refusals, read_grading
from skillopt.safety.capabilities import NewCapability, capability_difference
from skillopt.safety.leaks import find_leaks, index_protected_text
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import diff_documents
from skillopt.skills.folder import SKILL_FILE, decode_skill, is_shipped
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Suite
from skillopt.versions.branches import DRAFT, DraftBranch
from skillopt.versions.commit_message import DROPPED_BY, NEEDS_A_PERSON, ROLLBACK, Version, commit_kind
from skillopt.versions.decisions import PersonsWord, edits_of, needed_of, read_decisions
from skillopt.versions.refusals import adopt_renamed, want_again
from skillopt.versions.remotes import Remote
from skillopt.versions.repository import NewVersion, Repository
from skillopt.versions.revisions import find_version

_SCRIPTS: Final = ("sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "ps1", "bat")


@dataclass(frozen=True, slots=True)
class ListedDraft:
    """The draft of a skill."""

    branch: str
    version: Version
    grading: Grading | None
    obstacle: str
    marks: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was shown of it."""
        if self.version.trailer(DROPPED_BY):
            return "not graded: edits were dropped since"
        headline = read_headline(dict(self.version.trailers))
        grade = name_grade(self.grading) if self.grading else self.version.trailer(GRADE) or name_grade(None)
        return "; ".join(filter(None, (headline, grade)))

    @property
    def needs_a_person(self) -> bool:
        """Whether a person decides about it now: it was shown to be better, or a person must look at its lines."""
        shown = self.grading is not None and self.grading.grade in (Grade.PROVEN, Grade.PROVEN_HERE)
        return shown or bool(self.marks)

    @property
    def offered(self) -> bool:
        """Whether people are asked to take it."""
        return bool(self.version.trailer(DROPPED_BY)) or (self.grading is not None and self.grading.offered)


@dataclass(frozen=True, slots=True)
class ListedVersions:
    """The versions of a skill, newest first, with who declined them, and its draft."""

    skill: str
    branch: str
    versions: tuple[Version, ...]
    declined: Mapping[str, PersonsWord]
    draft: ListedDraft | None = None


def list_versions(selection: Selection) -> ListedVersions:
    """List the versions of a skill, newest first, and its draft."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    decisions, branch = read_decisions(repository, target.name), open_draft(project.root, repository, target)
    found, draft = branch.read(), None
    if found is not None:
        obstacle = draft_obstacle(repository, target, branch, found)
        draft = ListedDraft(branch.name, found, read_grading(found.trailers), obstacle, found.values(NEEDS_A_PERSON))
    return ListedVersions(target.name, f"skillopt/{target.name}", decisions.versions, decisions.declined_by, draft)


def shown_of(version: Version) -> str:
    """Return what was shown of a version; of what builds on a proven one, against which text. Empty if not known."""
    grading, grade = read_grading(version.trailers), grade_of(version.trailers)
    return name_grade(grading) if grading else grade.value if grade else ""


def versions_of(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List the versions of a skill, newest first; it must have one."""
    versions = repository.versions(skill)
    if not versions:
        raise UsageError(f"skill {skill!r} has no versions yet; train it with `skillopt optimize {skill}`")
    return versions


def resolve_version(branch: DraftBranch, text: str) -> str:
    """Return the commit that a user means by the name of a version, which may be `draft`."""
    if text != DRAFT:
        return find_version(branch.repository, branch.skill, text)
    if (tip := branch.tip) is None:
        raise UsageError(
            f"skill {branch.skill!r} has no draft; `skillopt log {branch.skill}` (list_skills in MCP) lists what it has"
        )
    return tip


def skill_at(branch: DraftBranch, version: str) -> Skill:
    """Read a skill as a version, which may be `draft`, has it."""
    return read_version(branch.repository, branch.skill, resolve_version(branch, version), branch.path)


@dataclass(frozen=True, slots=True)
class _Compared:
    skill: str
    before: str
    after: str
    old: Mapping[str, bytes]
    new: Mapping[str, bytes]

    @property
    def text(self) -> str:
        """The unified diff, empty where they are equal."""
        return diff_files(self.old, self.new)


def compare_versions(selection: Selection, before: str | None, after: str | None) -> _Compared:
    """Read two versions of a skill; from the first text, or to the newest version, where None, else of the draft."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    branch = open_draft(project.root, repository, target)
    if before is None and branch.tip and not repository.versions(target.name):
        before = DRAFT
    if before == DRAFT and after is None:
        draft = repository.commit(resolve_version(branch, DRAFT))
        before, after = draft.parent, draft.sha
    if before is None or after is None:
        versions = versions_of(repository, target.name)
        before, after = before or _starting_commit(versions), after or versions[0].sha
    sides = (
        target.skill().shipped
        if side == "worktree"
        else repository.read_folder(resolve_version(branch, side), branch.path)
        for side in (before, after)
    )
    old, new = ({file.path: file.content for file in files if is_shipped(file.path)} for files in sides)
    return _Compared(target.name, before, after, old, new)


def diff_files(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
    """Write the unified diff of files, empty where they are equal; a file that one side lacks is empty there."""
    found = []
    for path in sorted(old.keys() | new.keys()):
        before, after = (SkillDocument.parse(side.get(path, b"")) for side in (old, new))
        found.append(diff_documents(before, after, path, context=3))
    return "\n".join(filter(None, found))


def acts_of(project: Project, version: Version) -> tuple[str, ...]:
    """Say what agents did under a version or draft of a run and not under the text that the run began with.

    One line says why it is not known: there was no sandbox, or the rollouts were recorded in another clone.
    """
    skill, run = version.trailer("Skill"), version.trailer("Skillopt-Run")
    if not run:
        return ()
    try:
        with closing(Ledger.open(project.root, read_only=True)) as ledger:
            record = ledger.run(run)
            text = read_version(project.repository(), skill, version.sha, record.skill_path, missing_ok=True)
            return recorded_acts(ledger, record, text.digest)
    except SkilloptError:
        return ("not known: its rollouts are not recorded here",)


def difference_of_files(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> tuple[NewCapability, ...]:
    """List what the Markdown and scripts of a skill folder let or tell an agent do that they did not before."""
    return capability_difference(*("\n\n".join(_instructions(files)) for files in (old, new)))


def _instructions(files: Mapping[str, bytes]) -> Iterator[str]:
    for path in sorted(files, key=lambda path: (path != SKILL_FILE, path)):
        suffix, text = path.rpartition(".")[2].lower(), files[path].decode("utf-8", "replace")
        if suffix in _SCRIPTS or text.startswith("#!"):
            text = f"{'~' * 60}{suffix if suffix in _SCRIPTS else 'sh'}\n{text}\n{'~' * 60}"
        elif suffix != "md":
            continue
        yield text


@dataclass(frozen=True, slots=True)
class Restored:
    """An older or declined version whose text a new commit publishes again."""

    skill: str
    branch: str
    version: str
    commit: str


def roll_back(selection: Selection, version: str | None) -> Restored:
    """Publish an older version of a skill, or the text before training, as a new commit; nothing is rewritten."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    skill, path = target.name, target.place(repository)
    versions = versions_of(repository, skill)
    wanted = _starting_commit(versions) if version is None else find_version(repository, skill, version)
    tip = repository.branch_tip(skill) or versions[0].sha
    files = read_version(repository, skill, wanted, path).shipped
    if files == read_version(repository, skill, tip, path).shipped:
        held = version or wanted[:10]
        raise UsageError(f"skillopt/{skill} holds the text of {held!r} already; nothing to roll back")
    new = NewVersion(
        skill=skill,
        path=path,
        files=files,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        parent=tip,
        expected_tip=tip,
        subject=f"{skill}: go back to {wanted[:10]}",
        body=f"The skill is again as it was in {wanted}.",
        trailers=(("Skill", skill), (ROLLBACK, wanted)),
    )
    want_again(repository, skill, [wanted])
    return Restored(skill, f"skillopt/{skill}", wanted, repository.commit_version(new))


def _starting_commit(versions: Sequence[Version]) -> str:
    """Return the commit that training began from, or began anew from after people declined or changed the text."""
    for version in versions:
        kind = commit_kind(version)
        if kind == "undeclined":
            break
        if kind == "declined" or (kind == "start" and version.merged):
            return version.sha
    oldest = _oldest_trained(versions)
    return versions[-1].sha if oldest is None else oldest.parent or oldest.sha


def _oldest_trained(versions: Sequence[Version]) -> Version | None:
    return next((one for one in reversed(versions) if commit_kind(one) in ("accepted", "taken")), None)


def released_of(plan: RunPlan, ledger: Ledger, record: RunRecord) -> Released:
    """Find the text for the held-out test: what the versions on the branch began from, or people wrote since."""
    name, repository = plan.target.name, plan.repository
    skill = decode_skill(name, record.start)
    versions = repository.versions(name, record.base) if record.base else ()
    if versions:
        on_branch = read_version(repository, name, versions[0].sha, record.skill_path, missing_ok=True)
        if on_branch.digest == skill.digest:
            skill = read_version(repository, name, _starting_commit(versions), record.skill_path, missing_ok=True)
    before = first_text(repository, name, versions, record.skill_path)
    return Released(skill, earlier_looks(ledger, record, skill.digest), before)


def first_text(repository: Repository, skill: str, versions: Sequence[Version], path: str) -> SkillDocument | None:
    """Read the text before the first version, so that a leak in pieces of several runs or proposals is seen whole."""
    oldest = _oldest_trained(versions)
    if oldest is None:
        return None
    if not oldest.parent:
        return SkillDocument("")
    return read_version(repository, skill, oldest.parent, path, missing_ok=True).document


def needed_lines(repository: Repository, skill: str) -> dict[str, tuple[str, ...]]:
    """Map lines to the tasks that failed without them when the skill was last shrunk."""
    found = next((needed for one in repository.versions(skill) if (needed := needed_of(one))), ())
    return {line.strip(): edit.tasks for edit in found for line in edit.anchor.splitlines() if line.strip()}


def tasks_behind(repository: Repository, skill: str, lines: Collection[str]) -> frozenset[str]:
    """Return the tasks from which lines were learned, or that failed without them, as far as commits here say so."""
    found = {task for line, tasks in needed_lines(repository, skill).items() if line in lines for task in tasks}
    for edit in (edit for version in repository.versions(skill) for edit in edits_of(version)):
        if any(line.strip() in lines for line in edit.content.splitlines() if line.strip()):
            found.update(edit.tasks)
    return frozenset(found)


def noticed_sections(repository: Repository, skill: Skill) -> tuple[int, int]:
    """Count the sections with a line that tasks were seen to need, by shrinking or ablation, and all with text."""
    edits = [edit for version in repository.versions(skill.name) for edit in edits_of(version) if edit.tasks]
    needed = {*needed_lines(repository, skill.name)}
    needed.update(line.strip() for edit in edits for line in edit.content.split("\n"))
    document, starts = skill.document, [section.start for section in skill.document.sections]
    texts = [
        document.text[section.body : end].split("\n")
        for section, end in zip(document.sections, [*starts[1:], len(document.text)], strict=True)
    ]
    written = [[line.strip() for line in lines if line.strip()] for lines in texts]
    return sum(not needed.isdisjoint(lines) for lines in written), sum(bool(lines) for lines in written)


def bring_lines(repository: Repository, remote: str, observer: RunObserver) -> None:
    """Fetch refusals and records, which no clone brings by itself; without them those that are here count."""
    try:
        found = Remote.find(repository, remote) if remote else None
        if found is not None:
            found.fetch_lines()
    except (RemoteError, UsageError) as error:
        observer.notice(f"what other clones have of refusals and records is not known: {error}")


def bring_refusals(selection: Selection, observer: RunObserver) -> None:
    """Fetch what people refused, where there is a remote, and take over what they refused of a skill since renamed."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    bring_lines(repository, target.settings.nightly.remote, observer)
    adopt_renamed(repository, target.name, target.place(repository))


def told_refusals(repository: Repository, told: str, suite: Suite) -> tuple[PeoplesRefusal, ...]:
    """List the edits that people refused, as a run is told of them; no reason gives away something of the suite."""
    found = peoples_refusals(repository, told)
    protected = index_protected_text(suite) if found else None
    leaking = {one.reason for one in found if protected and find_leaks(protected, one.reason, "")}
    return tuple(replace(one, reason="") if one.reason in leaking else one for one in found)
