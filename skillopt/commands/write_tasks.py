"""The command `write-tasks`: draft tasks from a skill's text, try them, and make those that a person keeps tasks."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from skillopt.commands.options import JsonOption, QuietOption, RepeatsOption, RunOptions, YesOption, with_run_options
from skillopt.commands.output import CACHED, format_usage, interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay, foresee_payment
from skillopt.errors import UsageError
from skillopt.execution.access import expect_chosen
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.project import Project, Selection, Target
from skillopt.prompts.task_drafts import TaskDraft
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.runs.forecast import what_it_can_show
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import review_lock
from skillopt.suites import load_suite
from skillopt.suites.config_lines import add_to_config, put_file, quote_toml
from skillopt.suites.review_file import Decision, ReviewEntry, drafted, put_candidates, read_candidates, remove
from skillopt.suites.suite_file import add_tasks, suite_place_of, tasks_in
from skillopt.suites.trials import EmptyAnswers, RunRequests, Trials, draft_tasks, try_drafts
from skillopt.targets.chat import ChatHarness
from skillopt.tasks import Split, Suite


@with_run_options
def write_tasks(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="IDS", help="With --accept: which drafts, or `all`.")
    ] = None,
    *,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=60, help="Tasks to draft.")] = 12,
    accept: Annotated[
        bool, typer.Option("--accept", help="Turn drafts into tasks: those decided as `keep`, or those named.")
    ] = False,
    repeats: RepeatsOption = 1,
    options: RunOptions,
    yes: YesOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draft tasks from a skill's text, for you to review.

    Each draft is checked: an empty answer must fail, the model's own answer must pass, and the agent is run with the
    skill and without. What is left waits, one file a draft, until you accept it with --accept. The first run that costs
    money asks on a terminal; without a terminal a paid model needs a cap or --yes. Ends with 1 if no draft is left.
    """
    selection = options.select(skill)
    if accept:
        show(accept_tasks(selection, ids or ()), accepted_text, as_json=as_json)
        return
    if ids:
        raise UsageError(f"expected --accept with ids of drafts, found {', '.join(ids)} without it; add --accept")

    trials = f"{count} drafts, each run {count_noun(repeats, 'time')} with the skill and as often without"
    ask_to_pay(foresee_payment(selection, drafts=True), trials, yes=yes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        found = _write(selection, count, repeats, observer)
    show(found, _written, as_json=as_json)
    if not found["review"]:
        raise typer.Exit(1)


def _written(result: Mapping[str, Any]) -> str:
    kept = [draft for draft in result["drafts"] if draft["kept"]]
    lines = [f"{len(kept)} of {len(result['drafts'])} drafts for {result['skill']} passed the checks"]
    for one in sorted(result["drafts"], key=lambda draft: not draft["kept"]):
        line = f"{'keep' if one['kept'] else 'drop'} {one['id']}{', near miss' * one['near_miss']}: {one['result']}"
        if one["runs"]:
            line += f" ({one['passed_with']} of {one['runs']} with, {one['passed_without']} without)"
        lines.append(f"{line}: {escape_terminal(one['detail'])}" if one["detail"] and not one["kept"] else line)
    lines += [f"not read {escape_terminal(name)}: {escape_terminal(reason)}" for name, reason in result["unread"]]
    lines.append(f"used: {result['paid_rollouts']} new runs, {result['paid_calls']} new calls for drafts; {CACHED}")
    lines += [f"spent by the {role}: {format_usage(usage, role)}" for role, usage in result["spent"].items()]
    if result["review"]:
        lines.append(how_to_accept(result, "write-tasks"))
    else:
        lines.append(
            "next: another --model, or more drafts with -n; or write tasks yourself (skillopt docs tasks-and-verifiers)"
        )
    return "\n".join(lines)


def how_to_accept(result: Mapping[str, Any], command: str) -> str:
    """Say what to do with the candidates that wait."""
    where = f"read the files in {result['review']}, set `decision: keep` where it is right"
    return f"next: {where}, then skillopt {command} {result['skill']} --accept"


def accepted_text(result: Mapping[str, Any]) -> str:
    """Say what became of drafts that were accepted."""
    lines = [f"{len(result['accepted'])} drafts are tasks now: {', '.join(map(escape_terminal, result['accepted']))}"]
    lines.append(f"{result['suite']} has {result['tasks']} tasks; {result['waiting']} drafts wait")
    lines += [f"skillopt.toml + {line}" for line in result["config"]]
    return "\n".join([*lines, result["prospect"], f"next: skillopt estimate {result['skill']}"])


def _write(selection: Selection, count: int, repeats: int, observer: RunObserver) -> dict[str, Any]:
    """Draft tasks for a skill and try them; nothing becomes a task by this, and nothing recorded is paid for again."""
    project = selection.project()
    target = project.target(selection)
    if target.suite_path is not None:
        suite_place_of(target.suite_path)
    known = tasks_in(target.suite_path)
    skill, review, settings = target.skill(), _review_path(project, target), target.settings
    expect_reviewed(review, target.name)
    expect_chosen(settings, harness=True, model=True)
    for role, name in (("model", settings.model), ("harness", settings.by_target[0].harness)):
        if name == "demo":
            raise UsageError(
                f"expected as {role} a language model, which can write and do tasks, found the demo; set {role} "
                "(`skillopt init --harness …` says what is here)"
            )
    with closing(Ledger.open(project.root)) as ledger:
        work = _Work(target, project, ledger, observer)
        observer.notice(f"drafting {count} tasks with {settings.model}")
        reading = draft_tasks(work.runner(work.drivers), skill, known, count)
        judged = next((draft for draft in reading.drafts if draft.task.verifier.judged), None)
        measured = settings.max_rollouts // (2 * repeats) if settings.max_rollouts else count
        tried = try_drafts(
            reading.drafts, skill, replace(work.trials(judged), repeats=repeats, measured=measured), known
        )
    put_candidates(review, (target.name, "write-tasks"), drafted(tried))
    return {
        "skill": target.name,
        "review": str(review) if review.exists() else "",
        "drafts": [
            {
                "id": one.draft.task.id,
                "kept": one.result.kept,
                "result": one.result.value,
                "detail": one.detail,
                "near_miss": one.draft.near_miss,
                "passed_with": one.passed_with,
                "passed_without": one.passed_without,
                "runs": one.runs,
            }
            for one in tried
        ],
        "unread": reading.unread,
        "paid_rollouts": sum(runner.paid_rollouts for runner in work.made),
        "paid_calls": sum(runner.paid_calls for runner in work.made),
        "spent": work.drivers.meter.by_role,
    }


def _review_path(project: Project, target: Target) -> Path:
    """Return the folder in which drafts for a skill wait."""
    return project.root / ".skillopt" / "drafts" / target.name


def expect_reviewed(review: Path, skill: str, command: str = "write-tasks", what: str = "drafts") -> None:
    """Refuse to write over drafts or candidates that wait."""
    if waiting := read_candidates(review):
        raise UsageError(
            f"{review}: {len(waiting)} {what} wait for you there; decide on them in their files and run `skillopt "
            f"{command} {skill} --accept`, or delete the folder to begin anew"
        )


class _Work:
    """Makes who drafts and who answers in the trials; all answers are recorded, all calls are metered together."""

    def __init__(self, target: Target, project: Project, ledger: Ledger, observer: RunObserver) -> None:
        self._settings, self._root = target.settings, project.root
        self._ledger, self._observer = ledger, observer
        self.drivers = load_drivers(target.settings, Suite("drafts", ()), project.root)
        self.made: list[RecordedRunner] = []

    def trials(self, judged: TaskDraft | None) -> Trials:
        """Make who answers in the trials; a judge only where a draft has criteria."""
        if judged is not None:
            suite = Suite("drafts", ((Split.VAL, judged.task),))
            self.drivers = load_drivers(self._settings, suite, self._root, Given(meter=self.drivers.meter))
        drivers = self.drivers
        if drivers.model is None:
            raise AssertionError("expected an optimizer model, which load_drivers makes")
        model, target = self._settings.model, self._settings.by_target[0].harness
        trials = (
            ("checking that empty answers fail", EmptyAnswers()),
            (f"doing the tasks with {model}", ChatHarness(drivers.model)),
            (f"running {target} with the skill and without", drivers.harness),
        )
        bare = replace(drivers, model=None, notice="")
        empty, solver, runs = (self._told(what, replace(bare, harness=harness)) for what, harness in trials)
        return Trials(empty, solver, runs)

    def _told(self, what: str, drivers: Drivers) -> RunRequests:
        """Make a runner that says what it does."""
        runner = self.runner(drivers)

        def run(requests: Sequence[RolloutRequest]) -> Sequence[Rollout]:
            if requests:
                self._observer.notice(f"{what}: {count_noun(len(requests), 'run')}")
            return runner.rollouts(requests)

        return run

    def runner(self, drivers: Drivers) -> RecordedRunner:
        self.made.append(RecordedRunner(self._ledger, "", drivers, self._observer))
        return self.made[-1]


def accept_tasks(
    selection: Selection, ids: Sequence[str] = (), *, review: Path | None = None, command: str = "write-tasks"
) -> dict[str, Any]:
    """Append drafts of the review file to the skill's suite, and name the suite in skillopt.toml if it is missing."""
    project = selection.project()
    target = project.target(selection)
    with review_lock(project.root):
        review = review or _review_path(project, target)
        entries = read_candidates(review)
        chosen = _chosen(entries, ids, review, f"skillopt {command} {target.name}")
        suite = suite_place_of(target.suite_path or project.root / "suites" / target.name)
        lines, config = _config_lines(project, target, suite), ""
        if lines:
            before = project.config.read_text(encoding="utf-8") if project.config.exists() else ""
            config = add_to_config(before, project.config, lines)
        judged, settings = [entry.id for entry in chosen if entry.judged], target.settings
        if judged and (settings.judge or settings.model) in {"", "demo"}:  # they could not be run
            raise UsageError(
                f"expected a model that judges criteria in words, found none, and {count_noun(len(judged), 'task')} of "
                f"{len(chosen)} need it ({', '.join(judged[:5])}): add a line such as judge = "
                '"anthropic/claude-haiku-4-5" at the top of skillopt.toml, or replace their rubrics by checks in '
                f"{chosen[0].path.parent}; nothing was accepted"
            )
        accepted = add_tasks(suite, [entry.task for entry in chosen])
        if config:
            put_file(project.config, config)
        dropped = [entry for entry in entries if entry.decision is Decision.DROP and entry not in chosen]
        remove((*chosen, *dropped))
        whole = load_suite(target.suite_path or suite)
    return {
        "skill": target.name,
        "suite": str(suite),
        "accepted": accepted,
        "tasks": len(whole.splits),
        "waiting": len(entries) - len(chosen) - len(dropped),
        "config": [line for own in lines.values() for line in own],
        "prospect": what_it_can_show(whole, settings).words,
    }


def _chosen(entries: Sequence[ReviewEntry], ids: Sequence[str], review: Path, command: str) -> tuple[ReviewEntry, ...]:
    if not entries:
        raise UsageError(f"expected drafts in {review}, found none; make some with `{command}`")
    if list(ids) == ["all"]:
        return tuple(entry for entry in entries if entry.decision is not Decision.DROP)
    strangers = set(ids) - {entry.id for entry in entries}
    if strangers:
        known = ", ".join(entry.id for entry in entries)
        raise UsageError(f"{review}: expected ids of drafts, found {', '.join(sorted(strangers))}; there are {known}")
    chosen = tuple(entry for entry in entries if (entry.id in ids if ids else entry.decision is Decision.KEEP))
    if not chosen:
        raise UsageError(
            f"{review}: expected drafts with `decision: keep`, found none of {len(entries)}; set it in the files of "
            "those that are right, or name their ids, or `all`"
        )
    return chosen


def _config_lines(project: Project, target: Target, suite: Path) -> Mapping[str, Sequence[str]]:
    """Return the lines that name the suite, by skill: none where one is configured."""
    if target.suite_path is not None or target.name in project.documents().values():
        return {}
    shown = suite.resolve().relative_to(project.root.resolve()).as_posix()
    folder = target.folder.resolve()
    for name, entry in project.entries.items():
        if (project.root / str(entry.get("path", f"skills/{name}"))).resolve() == folder:
            return {name: (f"suite = {quote_toml(shown)}",)}
    path = folder.relative_to(project.root.resolve()).as_posix()
    return {target.name: (f"path = {quote_toml(path)}", f"suite = {quote_toml(shown)}")}
