"""The user action `tune`: search for settings under which the loop gains most for the fewest rollouts.

Owns what a search on a real suite is made of and what it came to. Does not own the search (tuning), what a case is
scored on (tuning_runs) or how the result looks (cli).
"""

from contextlib import closing
from dataclasses import dataclass
from json import dumps
from pathlib import Path

from skillopt.attempts import Attempt, Confirmation, Result, confirm, front, recommend
from skillopt.commands.plan import Plan, Start, incumbent_of, make_plan
from skillopt.commands.tuning_runs import TuningRuns, case_of, tuning_suite
from skillopt.documents import Skill
from skillopt.errors import SettingsError
from skillopt.events import Event, StepStarted
from skillopt.ledger import Ledger
from skillopt.locks import state_folder
from skillopt.metering import OutOfBudget
from skillopt.project import Selection
from skillopt.reports.front_plot import draw_front
from skillopt.runner import Activity, Watch
from skillopt.search_space import (
    DEFAULT_SPACE,
    Space,
    as_toml,
    overrides,
    read_space,
    space_of_names,
    start_values,
)
from skillopt.tasks import Suite
from skillopt.tuning import Search, Study, check_optuna, open_study
from skillopt.tuning import tune as go_on

__all__ = ["TuneOptions", "Tuned", "tune"]


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How a search is made.

    Args:
        attempts: Settings to try, those that are in force included.
        seeds: Runs of the loop for each.
        space: Names of settings, or a TOML file of dials; empty for the usual ones.
        held_out: Share of the train tasks that score the settings and train nothing.
        error: Probability of giving up an attempt that is no worse than those it is compared with; 0 never gives up.
        check: Further seeds on which the recommended settings are compared with those in force; 0 for none.
        max_rollouts: Rollouts that all commands of the search may newly run; 0 for no cap.
        plot: Where the plot goes; None for beside the study.
    """

    attempts: int = 16
    seeds: int = 8
    space: tuple[str, ...] = ()
    held_out: float = 0.25
    error: float = 0.1
    check: int = 8
    max_rollouts: int = 0
    plot: Path | None = None


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search came to.

    Args:
        skill: Name of the skill.
        study: Id of the search; its answers are recorded under it.
        journal: The study, as Optuna keeps it.
        cases: Names of the cases.
        attempts: What was tried, in order.
        front: Numbers of the attempts that none beats in score and in rollouts, cheapest first.
        recommended: The number of the attempt to use; None when none is finished.
        settings: The lines for skillopt.toml; empty when there is nothing to change.
        check: The recommended settings against those in force, on further seeds; None when there is nothing to compare.
        reason: Why it ended; empty when everything asked for is done.
        paid_rollouts: Rollouts that this command ran itself.
        plot: The plot; empty when there is nothing to plot.
    """

    skill: str
    study: str
    journal: str
    cases: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    front: tuple[int, ...]
    recommended: int | None
    settings: str
    check: Confirmation | None
    reason: str
    paid_rollouts: int
    plot: str


def tune(selection: Selection, options: TuneOptions, *, start: Start = "auto", watch: Watch | None = None) -> Tuned:
    """Search for better settings, or go on with the search that was interrupted.

    Commits nothing and never runs a task of the sealed test.

    Args:
        selection: The skill, its suite and the settings to begin with; caps on money, tokens and time hold for all runs
            of the search together.
        options: How the search is made.
        start: Which text training starts from when work tree and branch differ.
        watch: Follows the search.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        InvalidMeasurementError: Too little could be measured; the same command continues.
    """
    check_optuna()
    plan = make_plan(selection)
    base, root = plan.target.settings, plan.repository.root
    suite = tuning_suite(plan.suite, options.held_out, base.seed)
    skill = incumbent_of(plan.target, plan.repository, start)
    search = _search(plan, suite, skill, options)
    study, watch = search.digest[:12], watch or Watch()
    journal = state_folder(root) / "tuning" / f"{plan.target.name}-{study}.journal"
    with open_study(journal, search) as opened, closing(Ledger.open(root)) as ledger:
        runs = TuningRuns(plan, suite, skill, (ledger, study), _Quieter(watch), options.max_rollouts)
        most = options.attempts * options.seeds + 2 * options.check
        watch.notice(f"searching {', '.join(search.space)}: up to {most} runs of the loop, study {study}")
        reason, check = "", None
        try:
            go_on(opened, options.attempts, runs.measure, watch.notice)
            check = _check(opened, options.check, base.seed + options.seeds, runs, watch)
        except OutOfBudget as over:
            reason = str(over)
        attempts, paid = tuple(opened.attempts), runs.paid_rollouts
    best = recommend(attempts).number if attempts else None
    plot = options.plot or journal.with_suffix(".svg")
    if best is not None:
        _write(plot, draw_front(attempts, best))
    return Tuned(
        skill=plan.target.name,
        study=study,
        journal=str(journal),
        cases=search.cases,
        attempts=attempts,
        front=tuple(attempt.number for attempt in front(attempts)),
        recommended=best,
        settings=as_toml(overrides(base, attempts[best].values)) if best else "",
        check=check,
        reason=reason,
        paid_rollouts=paid,
        plot=str(plot) if best is not None else "",
    )


def _search(plan: Plan, suite: Suite, skill: Skill, options: TuneOptions) -> Search:
    base, space = plan.target.settings, _space(options.space)
    # With a higher cap the same search goes on.
    uncapped = base.model_copy(update={"max_usd": 0.0, "max_tokens": 0})
    title = dumps([uncapped.identity, *plan.identities, suite.digest, skill.digest])
    cases = tuple(case_of(base.seed + number) for number in range(options.seeds))
    return Search(title, space, start_values(base, space), cases, base.seed, options.error)


def _space(asked: tuple[str, ...]) -> Space:
    """Take dials from a file, or by name; both may be asked for, and a file's dial comes before the usual one."""
    names = [name for name in asked if not name.endswith(".toml")]
    space = dict(space_of_names(names)) if asked else dict(DEFAULT_SPACE)
    for file in (Path(name) for name in asked if name.endswith(".toml")):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            message = f"--space: cannot read {str(file)!r}: {error}"
            raise SettingsError(message) from error
        space |= read_space(text, str(file))
    return space


def _check(study: Study, seeds: int, first: int, runs: TuningRuns, watch: Watch) -> Confirmation | None:
    """Run the recommended settings and the first ones on seeds that chose nothing."""
    best = recommend(study.attempts)
    if not seeds or not best.number:
        return None
    cases = [case_of(seed) for seed in range(first, first + seeds)]
    found: list[list[Result]] = []
    for name, values in (("the settings in force", study.search.start), ("the recommended settings", best.values)):
        watch.notice(f"{name} on {seeds} further seeds")
        found.append(list(study.measured(values, cases, runs.measure)))
    return confirm(*found)


def _write(path: Path, text: str) -> None:
    """Write the plot aside and put it in place."""
    aside = path.with_name(f"{path.name}.new")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}; choose another --plot"
        raise SettingsError(message) from error


class _Quieter(Watch):
    """Follows the runs of a search without a line for everything that happens in each.

    Args:
        watch: Who follows.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def event(self, event: Event) -> None:
        """Pass on where the run is."""
        if isinstance(event, StepStarted):
            self._watch.event(event)

    def activity(self, activity: Activity) -> None:
        """Pass on progress inside a batch."""
        self._watch.activity(activity)

    def notice(self, text: str) -> None:
        """Pass on what the user should know."""
        self._watch.notice(text)
