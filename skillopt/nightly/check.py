"""The step `nightly check`: can pull requests be opened, and what do people say in those that there are?

It asks remote and forge, runs no model and no code of skills or suites, and comes before any money is spent.
"""

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import ForgeAccessError, SkilloptError, UsageError
from skillopt.execution.retry import Retry, retrying_forge
from skillopt.nightly.forges import find_account, load_forge
from skillopt.nightly.handover import ReviewState, SkillReview
from skillopt.nightly.people_commands import read_asked, read_closing, read_ignored
from skillopt.project import CONFIG, Project, Selection
from skillopt.protocols import Forge
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder
from skillopt.suites.config_lines import put_file
from skillopt.versions.records import RECORDS
from skillopt.versions.refusals import REFUSALS, all_lines
from skillopt.versions.remotes import Remote, RemoteLogin


@dataclass(frozen=True, slots=True)
class ForgeAccess:
    """Where branches and pull requests go to; it holds the token."""

    name: str
    forge: Forge
    remote: Remote | None


def check_night(
    out: Path, *, flags: Mapping[str, object] | None = None, pull_request: int = 0, folder: Path | None = None
) -> ReviewState:
    """Ask the forge what a night has to know, and write it to a file."""
    project, flags = Project.find(folder or Path.cwd()), flags or {}
    names = configured_skills(project)
    access = find_access(project, flags)
    tips = access.remote.fetch_tips() if access.remote else None
    facts = access.forge.facts()
    if not facts.may_open:
        raise ForgeAccessError(f"forge {access.name!r}: expected a token that may open pull requests, {facts.reason}")
    if access.remote and tips:
        if (project.root / ".skillopt" / "ledger.db").is_file():
            with closing(Ledger.open(project.root, read_only=True)) as ledger:
                for base in sorted(ledger.unfinished_bases()):  # which a shallow clone may lack
                    access.remote.fetch_commit(base, tips)
        access.remote.fetch_lines()
    reviews = tuple(_review(access.forge, project, name, flags) for name in names)
    if pull_request:
        numbers = {one.skill: {pr.number for pr in (*one.versions, *one.drafts)} for one in reviews}
        reviews = tuple(one for one in reviews if pull_request in numbers[one.skill])
        if not reviews:
            raise UsageError(f"expected a pull request of a skill's branch, found #{pull_request}, which is of none")
    remote = access.remote.name if access.remote else ""
    refusals, records = (all_lines(project.repository(), refs) for refs in (REFUSALS, RECORDS))
    state = ReviewState(
        forge=access.name,
        facts=facts,
        remote=remote,
        tips=tips,
        refusals=refusals,
        records=records,
        skills=reviews,
    )
    put_file(out, state.model_dump_json(indent=1))
    return state


def configured_skills(project: Project) -> tuple[str, ...]:
    """List the skills of a night: those that skillopt.toml names; where it names none, all that have tasks."""
    names = tuple(project.entries) or tuple(skill.name for skill in project.discover() if skill.suite)
    if not names:
        raise UsageError(
            f"expected skills in {project.config}, or skills with tasks, found none; write it with `skillopt init`"
        )
    return names


def find_access(project: Project, flags: Mapping[str, object]) -> ForgeAccess:
    """Find the remote and the forge that branches and pull requests go to."""
    settings, repository = project.settings(flags), project.repository()
    nightly = settings.nightly
    account = find_account()
    login = RemoteLogin(account.web, account.token) if account else None
    remote = Remote.find(repository, nightly.remote, login) if nightly.remote else None
    drafts = state_folder(project.root) / "pull-requests"
    driver = load_forge(nightly, remote.url if remote else "", drafts)
    forge = retrying_forge(driver, Retry(settings.retry_seconds))
    if remote is None:
        names = Remote.names(repository)
        # A repository without any remote may be trained; the name of one that does not exist is a mistake.
        if nightly.forge != "none" or (nightly.remote and (names or nightly.remote != "origin")):
            found = ", ".join(map(repr, names)) or "none"
            message = f"forge {nightly.forge!r}: expected a git remote named {nightly.remote!r}, found {found}"
            advice = f'add it, name another (remote in [nightly] of {CONFIG}), or push nothing with forge = "none"'
            raise UsageError(f"{message}; {advice}")
    return ForgeAccess(nightly.forge, forge, remote)


def _review(forge: Forge, project: Project, name: str, flags: Mapping[str, object]) -> SkillReview:
    """Read the pull requests of a skill; one that cannot be read has its turn, which says why."""
    skill = ""
    with suppress(SkilloptError):
        skill = project.target(Selection(name, flags, folder=project.root)).name
    if not skill:
        return SkillReview(skill=name)
    groups = [forge.pull_requests(f"{prefix}/{skill}") for prefix in ("skillopt", "skillopt-draft")]
    versions, drafts = groups
    # The newest five that people closed without a merge say enough.
    closed = [one for group in groups for one in [one for one in group if one.state == "closed"][:5]]
    opened = [one for group in groups for one in group if one.state == "open"]
    said = [(one, forge.comments(one.number)) for one in (*opened, *closed)]
    asked = [(one, comments) for one, comments in said if one.state == "open"]
    return SkillReview(
        skill=name,
        versions=versions,
        drafts=drafts,
        asked=tuple(what for one, comments in asked for what in read_asked(one, comments)),
        closings=tuple(read_closing(one, comments) for one, comments in said if one.state == "closed"),
        ignored=read_ignored((one, comment) for one, comments in said for comment in comments),
    )
