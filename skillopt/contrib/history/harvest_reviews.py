"""Harvest review comments: the rules that reviewers say again and again, with tasks and an edit for each."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import typer

from skillopt.commands.spending import can_ask
from skillopt.contrib.history.redaction import Redaction
from skillopt.contrib.history.remark_groups import rule_groups
from skillopt.contrib.history.remarks import Remark, is_formatting, read_remarks, read_rows, settled_by
from skillopt.contrib.history.review_rules import ReviewRule, SettledRemark
from skillopt.errors import UsageError
from skillopt.execution.retry import Retry, retrying_forge
from skillopt.nightly.forges import load_forge
from skillopt.project import Project, Target
from skillopt.protocols import ReviewedForge
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun
from skillopt.suites import load_suite
from skillopt.suites.config_lines import put_file
from skillopt.suites.near_copies import word_digests
from skillopt.suites.review_file import ReviewEntry, put_candidates
from skillopt.suites.suite_file import tasks_in
from skillopt.suites.writing import task_entry
from skillopt.tasks import Split
from skillopt.versions.remotes import Remote
from skillopt.versions.revisions import read_revision_file

_TAG: Final = "reviews"
_MOST_REMARKS: Final = 3_000
_LARGEST: Final = 200_000
_DECLINED: Final = 130
"""As after Ctrl-C: the user ended it."""


class ReviewHarvest:
    """Finds rules in review comments of an exported file, or of the forge, whose token is read here only."""

    def __init__(self, project: Project, exported: Path | None) -> None:
        self.left_out: Counter[str] = Counter()
        self._repository, self._forge = project.repository(), None if exported else _reviewed_forge(project)
        if exported is not None:
            try:
                rows = list(read_rows(exported.read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise UsageError(f"{exported}: expected review comments, found {error}; correct --from") from error
        elif self._forge is not None:
            rows = list(self._forge.review_comments(_MOST_REMARKS))
            self._pull_request = cache(self._forge.pull_request)
        self.remarks = list(read_remarks(rows, self.left_out))

    def rules(self, count: int, redaction: Redaction) -> Iterator[ReviewRule]:
        """Yield rules that led to changes over two pull requests or more, those said most often first."""
        for group in rule_groups([one.text for one in self.remarks], [one.pull for one in self.remarks]):
            settled = [one for at in group if (one := self._settled(self.remarks[at])) is not None]
            named = [one for one in settled if redaction.file(one.remark.path) == one.remark.path]
            if len({one.remark.pull for one in named}) > 1:
                yield ReviewRule(named, redaction)
                count -= 1
            if not count:
                break

    def _settled(self, remark: Remark) -> SettledRemark | None:
        """Return a remark with the change that it led to; None for none, or for a formatter's."""
        whole = remark.model_copy(update=dict(self._missing(remark)))
        gone, come = settled_by(whole)
        if whole.before is None or whole.after is None:
            self.left_out["of which a file is not here (git fetch origin 'refs/pull/*/head')"] += 1
        elif whole.author and whole.author == whole.pull_author:
            self.left_out["replies or of the author"] += 1
        elif max(len(whole.before), len(whole.after)) > _LARGEST:
            self.left_out["in large files"] += 1
        elif is_formatting(gone, come):
            self.left_out["nits that a formatter fixes" if gone or come else "without a change in their place"] += 1
        else:
            return SettledRemark(whole, gone, come)
        return None

    def _missing(self, remark: Remark) -> Iterator[tuple[str, str | None]]:
        """Yield what a comment of a forge lacks: title and end of its pull request, and the file before and after."""
        later = remark.later
        if self._forge is not None and remark.pull:
            request = self._pull_request(remark.pull)
            yield from (("title", request.title), ("description", request.body), ("pull_author", request.author))
            later = request.head or later
        for key, commit, known in (("before", remark.commit, remark.before), ("after", later, remark.after)):
            if known is None and commit.isalnum():
                content = read_revision_file(self._repository, commit, remark.path)
                if content is not None:
                    yield key, content.decode("utf-8", "replace")
                elif self._forge is not None:
                    yield key, self._forge.file_at(commit, remark.path)


def _reviewed_forge(project: Project) -> ReviewedForge:
    settings, repository = project.settings(), project.repository()
    if settings.nightly.forge == "none":
        raise UsageError(
            f'expected a forge to read review comments from, found forge = "none" in {project.config}; name one in '
            "[nightly], or an exported file with --from"
        )
    remote = Remote.find(repository, settings.nightly.remote) if settings.nightly.remote else None
    driver = load_forge(settings.nightly, remote.url if remote else "", project.root)
    return cast("ReviewedForge", retrying_forge(driver, Retry(settings.retry_seconds)))  # all but `none` are


def harvest_reviews(
    found: ReviewHarvest,
    target: Target,
    review: Path,
    rules: Iterable[ReviewRule],
    dropped: Collection[AbstractSet[str]],
) -> dict[str, Any]:
    """Write a candidate for each task of each rule, and the rule as an edit to try."""
    known = tasks_in(target.suite_path)
    seen, rows, fresh = {task.content_digest for task in known}, [], []
    for rule in rules:
        own = []
        for task, notes in rule.tasks():
            if task.content_digest not in seen and word_digests(task.prompt) not in dropped:
                seen.add(task.content_digest)
                own.append(task)
                fresh.append((task_entry(task), rule.why, notes))
        if own:
            _put_edit(_edit_path(review, rule.id), {**rule.edit, "tasks": [task.id for task in own]})
            judged = sum(task.verifier.judged for task in own)
            rows.append({"id": rule.id, "text": rule.text, "why": rule.why, "tasks": len(own), "judged": judged})
    put_candidates(review, (target.name, "harvest"), fresh)
    counts = {"remarks": len(found.remarks), "left_out": dict(found.left_out)}
    return {"skill": target.name, "review": str(review) if fresh else "", **counts, "rules": rows}


def reviews_text(result: Mapping[str, Any]) -> str:
    """Show the rules, with links."""
    rules = result["rules"]
    lines = [f"{count_noun(len(rules), 'rule')} in {count_noun(result['remarks'], 'remark')} of people"]
    if result["left_out"]:
        lines.append("left out: " + ", ".join(f"{number} {reason}" for reason, number in result["left_out"].items()))
    for one in rules:
        needs = f"{one['judged']} of them need a judge" if one["judged"] else "all with a pattern as check"
        lines += [f"{escape_terminal(one['id'])}: {escape_terminal(one['text'])}", f"  {escape_terminal(one['why'])}"]
        lines.append(f"  {count_noun(one['tasks'], 'task')}, {needs}")
    if rules:
        command = f"skillopt harvest {result['skill']} {escape_terminal(rules[0]['id'])} --accept"
        lines.append(f"next: read the files in {result['review']}, then accept a rule with its tasks: {command}")
    return "\n".join(lines)


def agree_to_share(target: Target, entries: Sequence[ReviewEntry], *, yes: bool) -> None:
    """Ask before words of reviewers become tasks, which the models that are named then read."""
    shared = count_noun(sum(_TAG in tags_of(entry) for entry in entries), "task")
    settings = target.settings
    models = dict.fromkeys((settings.model, settings.judge, *(one.harness for one in settings.by_target)))
    named = ", ".join(name for name in models if name not in {"", "demo"})
    if yes or not named or not any(_TAG in tags_of(entry) for entry in entries):
        return
    what = f"{shared} with words of reviewers, which {named} will read when tasks are run"
    if not can_ask():
        raise UsageError(f"expected agreement to {what}, found no terminal to ask; add --yes to agree")
    if not typer.confirm(f"accept {what}?", err=True):
        raise typer.Exit(_DECLINED)


def tags_of(entry: ReviewEntry) -> Sequence[object]:
    """Return the tags of a candidate: those of reviews have the id of their rule."""
    tags = entry.task.get("tags")
    return tags if isinstance(tags, list) else ()


def edits_of_rules(target: Target, review: Path, accepted: Sequence[str], suite: Path) -> list[str]:
    """Let the edits of accepted rules cite the tasks that teach, and return the commands that try them."""
    whole, commands = load_suite(suite), []
    train = {task.id for task in (whole.folds[0] if whole.folds else whole.tasks(Split.TRAIN))}
    for path in sorted(_edit_path(review, "").parent.glob("*.json")):
        (edit,) = json.loads(path.read_text(encoding="utf-8"))["edits"]
        cited = [name for name in edit["tasks"] if name in accepted and name in train]
        if cited:
            _put_edit(path, {**edit, "tasks": cited})
            commands.append(f"skillopt propose {path} {target.name}")
    return commands


def _put_edit(path: Path, edit: Mapping[str, object]) -> None:
    put_file(path, json.dumps({"edits": [edit]}, indent=2, ensure_ascii=False) + "\n")


def _edit_path(review: Path, rule: str) -> Path:
    return review.with_name(f"{review.name}.rules") / f"{rule}.json"
