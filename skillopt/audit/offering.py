"""One pull request that proposes the removal of idle skills.

What people closed, or merged and brought back, is not proposed again for the same target.
"""

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.audit.findings import AuditedSkill, AuditReport, RemovalOffer
from skillopt.errors import UsageError
from skillopt.nightly.posting import BranchOffer, closed_by_people, post_offer
from skillopt.project import CONFIG, FoundSkill, Project
from skillopt.protocols import Forge, PullRequest
from skillopt.reports.markdown import inline_code
from skillopt.runs.plan import read_version
from skillopt.safety.plurals import count_noun
from skillopt.suites.config_lines import drop_skills
from skillopt.tasks import digest_of
from skillopt.versions.branches import REMOVAL_BRANCH, Removal, RemovalBranch, links_into
from skillopt.versions.objects import read_found
from skillopt.versions.remotes import Remote
from skillopt.versions.repository import Repository

__all__ = ["names_removal", "offer_removals", "removal_body", "removal_title"]

_NONE_LEFT: Final = "no skill is idle any more whose removal was not declined"
_ENDED_EARLY: Final = "the audit ended early, so the open pull request is left as it is"


@dataclass(frozen=True, slots=True)
class _Place:
    """What skills are removed from."""

    project: Project
    repository: Repository
    base: str
    into: str
    skills: dict[str, FoundSkill]


def offer_removals(project: Project, report: AuditReport, forge: Forge, remote: Remote | None) -> RemovalOffer:
    """Open, update or close the pull request that proposes removals; doing it again changes nothing."""
    repository = project.repository()
    tips = remote.fetch_tips() if remote else None
    base, into = (tips.default, tips.default_branch) if tips else (repository.head() or "", "HEAD")
    if not base:
        raise UsageError("expected a commit with the skills, found none; commit them and run this again")
    skills = {one.path: one for one in project.discover().skills}
    place = _Place(project, repository, base, into, skills)
    requests = forge.pull_requests(REMOVAL_BRANCH)
    opened = next((one.url for one in requests if one.state == "open"), "")
    if report.stopped and opened:
        return RemovalOffer(REMOVAL_BRANCH, url=opened, notes=(_ENDED_EARLY,))
    rows, notes = _choose(place, report, requests)
    branch = RemovalBranch(repository)
    there = remote.fetch_branch(REMOVAL_BRANCH) if remote else branch.tip
    if not rows:
        done = post_offer(forge, BranchOffer(branch=REMOVAL_BRANCH, tip=there, moot_reason=_NONE_LEFT), lambda: False)
        return RemovalOffer(REMOVAL_BRANCH, action=done.action, url=done.url, notes=notes)
    removal, added = _removal(place, rows)
    branch.check(there, f"on {remote.name}" if remote else "here")
    commit = there if there and branch.still_fits(there, removal) else branch.write(removal)
    offer = _pull_request(place, rows, (there, commit))
    done = post_offer(forge, offer, _push(branch, remote, commit, there))
    names = tuple(row.skill for row in rows)
    after = "" if remote else f"git push origin {REMOVAL_BRANCH}"
    return RemovalOffer(
        REMOVAL_BRANCH, commit, names, done.action, done.url, (*notes, *added, *done.notes), next_step=after
    )


def _choose(
    place: _Place, report: AuditReport, requests: Sequence[PullRequest]
) -> tuple[list[AuditedSkill], tuple[str, ...]]:
    """Choose what is proposed, and say why the rest is not."""
    chosen = [row for row in report.skills if row.removable]
    notes: list[str] = []
    while True:
        # A skill that stays can lie in the folder of one that was to go, so what is left is looked at again.
        leaving = {row.path for row in chosen}
        obstacles = {row.path: _decided(row, requests) or _obstacle(place, row, leaving) for row in chosen}
        stays = [row for row in chosen if obstacles[row.path]]
        if not stays:
            return chosen, tuple(notes)
        notes += [f"{row.skill}: its removal is not proposed: {obstacles[row.path]}" for row in stays]
        chosen = [row for row in chosen if not obstacles[row.path]]


def _decided(row: AuditedSkill, requests: Sequence[PullRequest]) -> str:
    """Say that people have decided about a removal; empty where they have not."""
    decided = next((one for one in requests if names_removal(one.body, row) and _is_settled(one)), None)
    return f"#{decided.number} was {decided.state} by people" if decided else ""


def _is_settled(request: PullRequest) -> bool:
    return request.state == "merged" or closed_by_people(request)


def _obstacle(place: _Place, row: AuditedSkill, leaving: set[str]) -> str:
    """Return why a skill cannot be removed by deleting its folder; empty where it can."""
    found = place.skills.get(row.path)
    if found is None or found.name != row.skill:
        return f"it is no longer in {row.path}"
    if row.path == ".":
        return "its folder is the whole project"
    inside = f"{row.path}/"
    others = [one for path, one in place.skills.items() if path != row.path and path not in leaving]
    kept = next(
        (one.name for one in others if f"{one.path}/".startswith(inside) or f"{one.suite}/".startswith(inside)), ""
    )
    if kept:
        return f"the skill {kept} or its tasks are in its folder"
    if linked := _linked(place, row, others):
        return linked
    version = read_version(place.repository, row.skill, place.base, row.path, missing_ok=True)
    if version.digest != row.digest:
        return f"{place.into} has another text of it than was audited; audit that one"
    return ""


def _linked(place: _Place, row: AuditedSkill, others: Sequence[FoundSkill]) -> str:
    """Name the file of a skill that stays which a link into the folder of this one leads to; empty for none."""
    root = place.repository.relative(place.project.root)
    removed = posixpath.normpath(posixpath.join(root, row.path))
    links = links_into(place.repository, place.base, (removed,))
    for one in others:
        for kept in filter(None, (one.path, one.suite)):
            # As written, not resolved: a suite can lie outside of the repository, or be such a link.
            where = posixpath.normpath(posixpath.join(root, kept))
            if lost := next((name for name in links if f"{name}/".startswith(f"{where}/") or where == "."), ""):
                return f"{lost} of the skill {one.name} is a link into its folder"
    return ""


def _removal(place: _Place, rows: Sequence[AuditedSkill]) -> tuple[Removal, tuple[str, ...]]:
    """Return what the commit removes, and what is left to do by hand."""
    folders = {place.repository.relative(place.project.root / row.path): row.skill for row in rows}
    names = {name for name, path in place.project.configured_paths().items() if path in {row.path for row in rows}}
    config = place.repository.relative(place.project.root / CONFIG)
    (content,) = read_found(place.repository.root, [f"{place.base}:{config}"])
    files: tuple[tuple[str, bytes], ...] = ()
    notes: tuple[str, ...] = ()
    if content is not None and names:
        shorter = drop_skills(content.decode("utf-8", "surrogateescape"), names)
        if shorter is None:
            notes = (f"delete the tables of {', '.join(sorted(names))} in {CONFIG} by hand",)
        elif (kept := shorter.encode("utf-8", "surrogateescape")) != content:
            files = ((config, kept),)
    removal = Removal(
        place.base,
        tuple(folders),
        files,
        removal_title(rows),
        "\n".join(f"{row.skill}: {row.reason} ({row.target})." for row in rows),
        tuple(f"{row.skill} {row.digest}" for row in rows),
    )
    return removal, notes


def _pull_request(place: _Place, rows: Sequence[AuditedSkill], commits: tuple[str, str]) -> BranchOffer:
    there, commit = commits
    still = [one.suite for path, one in place.skills.items() if path not in {row.path for row in rows}]
    orphans = sorted({row.suite for row in rows if row.suite and row.suite not in still and not _within(row)})
    text = removal_body(rows, orphans)
    known = f"<!-- skillopt audit: {digest_of(text, commit)[:16]} -->"
    return BranchOffer(
        branch=REMOVAL_BRANCH,
        seen=there,
        tip=commit,
        known_by=known,
        title=removal_title(rows),
        body=f"{text}\n{known}\n",
    )


def _within(row: AuditedSkill) -> bool:
    return row.suite.startswith(f"{row.path}/")


def _push(branch: RemovalBranch, remote: Remote | None, commit: str, there: str) -> Callable[[], bool]:
    def push() -> bool:
        if commit == there:
            return False
        if remote is None:
            branch.publish(commit)
        else:
            remote.replace_branch(REMOVAL_BRANCH, commit, there)
        return True

    return push


_LONGEST_NAME: Final = 60

_LIMITS: Final = (
    "Each limit is for the score on these very tasks and holds with 95% for its skill; what other tasks need it "
    "does not say. Tokens and turns are what one rollout takes with the skill minus without it, the listing is an "
    "estimate of the tokens of name and description, which every session reads."
)
_BLOCK: Final = re.compile(
    r"^((?:<!-- skillopt removal: [0-9a-f]{16} -->\n)+)<!-- skillopt audit: [0-9a-f]{16} -->[ \t]*$", re.MULTILINE
)
"""The marks of the skills, and the line by which the pull request itself is known."""

_CLOSING: Final = (
    "Links of the repository that lead into the folders go, too. Closing this without a merge keeps the skills: their "
    "removal is not proposed again for this target."
)


def names_removal(body: str, row: AuditedSkill) -> bool:
    """Return whether a pull request of ours proposed the removal of a skill for a target.

    Its mark counts as a whole line of the block that our text ends with, not where people quote it.
    """
    blocks = _BLOCK.findall(body.replace("\r\n", "\n"))
    return bool(blocks) and _removal_mark(row) in blocks[-1].splitlines()


def removal_title(rows: Sequence[AuditedSkill]) -> str:
    """Return how many skills are to be removed; of one, its name."""
    if len(rows) == 1:
        return f"Remove the idle skill {rows[0].skill[:_LONGEST_NAME]}"
    return f"Remove {count_noun(len(rows), 'idle skill')}"


def removal_body(rows: Sequence[AuditedSkill], orphans: Sequence[str]) -> str:
    """Write the text: what removal loses at most, what it saves, and how to say no."""
    targets = ", ".join(inline_code(target) for target in sorted({row.target for row in rows}))
    one = len(rows) == 1
    most = max(max(row.high or 0.0, 0.0) for row in rows)
    lines = [
        (
            f"`skillopt audit` found {count_noun(len(rows), 'skill')} idle on {targets}: without "
            f"{'it' if one else 'them'} the mean score on {'its' if one else 'their'} own tasks falls by at most "
            f"{most:.2f}. This deletes {'its folder' if one else 'their folders'}, and what `skillopt.toml` says of "
            f"{'it' if one else 'them'}."
        ),
        "",
        "| skill | removal loses at most | passed without → with | pairs | tasks | tokens | turns | listing |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *map(_line, rows),
        "",
        _LIMITS,
        "",
    ]
    if orphans:
        lines += [f"No skill has these tasks afterwards; they stay: {', '.join(map(inline_code, orphans))}.", ""]
    lines += [_CLOSING, "", *map(_removal_mark, rows)]
    return "\n".join(lines)


def _removal_mark(row: AuditedSkill) -> str:
    """Return the hidden line of a skill and the target, whatever its text."""
    return f"<!-- skillopt removal: {digest_of(row.skill, row.target)[:16]} -->"


def _line(row: AuditedSkill) -> str:
    costs = row.costs
    cells = (
        inline_code(row.skill),
        f"{max(row.high or 0.0, 0.0):.2f}",
        f"{row.passed_without or 0.0:.0%} → {row.passed_with or 0.0:.0%}",
        str(row.pairs),
        str(row.tasks),
        "-" if costs.tokens is None else f"{costs.tokens:+,.0f}",
        "-" if costs.turns is None else f"{costs.turns:+.1f}",
        str(row.listing_tokens),
    )
    return f"| {' | '.join(cells)} |"
