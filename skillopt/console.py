"""Results of commands as text for people, one renderer per kind of result.

Owns wording and layout on stdout. Does not own progress or JSON (cli).
"""

from collections import Counter
from collections.abc import Sequence
from functools import singledispatch

from skillopt.changes import GateReport
from skillopt.commands.bisect import Bisected
from skillopt.commands.blame import Blamed
from skillopt.commands.diff import Diffed
from skillopt.commands.doctor import Diagnosis
from skillopt.commands.estimate import Cost, Estimated
from skillopt.commands.evaluate import Evaluated, Subject
from skillopt.commands.evidence import Evidence, Shown
from skillopt.commands.init import Initialized
from skillopt.commands.jobs import JobReport, Jobs
from skillopt.commands.log import Graphed, Logged, LoggedVersion
from skillopt.commands.nightly import Nightly, SkillNight, Training
from skillopt.commands.optimize import Optimized
from skillopt.commands.propose import Tried
from skillopt.commands.registration import Registered
from skillopt.commands.rollback import RolledBack
from skillopt.commands.show import ShownVersion
from skillopt.commands.status import Status
from skillopt.commands.transfer import TargetRow, Transferred
from skillopt.commands.tune import Tuned
from skillopt.expectation import expectation
from skillopt.gate import Verdict
from skillopt.history_text import render_bisected, render_blamed, render_graph, render_version
from skillopt.jobs import Job, JobState
from skillopt.reports.attempts_table import format_attempts
from skillopt.reports.gate_text import render_gate_text
from skillopt.rollouts import Usage
from skillopt.staleness import Fit, TargetName

__all__ = ["render", "spent"]

_SHOWN_STEPS = 12
_INDENT = "\n  spent by the "


def spent(usage: Usage) -> str:
    """Say what was consumed; a price that nobody knows is said to be unknown."""
    price = "price unknown" if usage.usd is None else f"${usage.usd:.4f}"
    return f"{usage.calls:,} calls, {usage.input_tokens:,} tokens read, {usage.output_tokens:,} written, {price}"


@singledispatch
def render(result: object) -> str:
    """Give the text of a command's result."""
    message = f"no text form for {type(result).__name__}"
    raise TypeError(message)


@render.register
def _(result: Optimized) -> str:
    lines = [f"{'continued' if result.resumed else 'ran'} {result.run} on {result.skill}: {result.reason}"]
    if result.test is None:
        kept = f"{len(result.versions)} versions on branch {result.branch}, not tested"
        kept += f": {result.withheld}" if result.withheld else ""
        lines.append(kept if result.versions else "no version was accepted; the skill is as it was")
    else:
        test = result.test
        lines.append(f"sealed test score: {test.before.score:.3f} -> {test.after.score:.3f}")
        lines.append(f"sealed test passed: {test.before.passed:.0%} -> {test.after.passed:.0%}")
        lines.append(f"test verdict: {test.verdict.outcome.value}, {test.verdict.reason}")
        lines.append(f"{len(result.versions)} versions on branch {result.branch}, newest {result.versions[-1][:10]}")
    lines.append(
        f"asked: {result.rollouts} rollouts, {result.calls} optimizer calls; "
        f"newly run: {result.paid_rollouts} rollouts, {result.paid_calls} calls, the rest was recorded"
    )
    lines += [f"spent by the {role}: {spent(usage)}" for role, usage in result.spent.items()]
    if result.versions:
        lines.append(
            f"look further: skillopt log {result.skill}; skillopt diff {result.skill}; skillopt report {result.run}"
        )
    return "\n".join(lines)


@render.register
def _(result: Evaluated) -> str:
    lines = [f"{result.skill} on {result.split}, {result.trials} trial(s) a task, {result.paid_rollouts} newly run"]
    return "\n".join([*lines, *(_subject(subject) for subject in result.subjects)])


def _subject(subject: Subject) -> str:
    tally = subject.tally
    missing = f", {tally.missing} not measured" if tally.missing else ""
    line = f"{subject.name}: score {tally.score:.3f}, {tally.passed:.0%} of {tally.measured} tasks passed{missing}"
    verdict = subject.against_first
    if verdict is None:
        return line
    return (
        f"{line}; against the first {verdict.gain:+.3f}, {verdict.wins} better, {verdict.ties} equal, "
        f"{verdict.losses} worse, confidence {verdict.confidence:.2f}"
    )


@render.register
def _(result: Transferred) -> str:
    head = f"{result.skill} {result.version[:10]} on {result.split}, {result.trials} trial(s) a task"
    trained = f"; trained on {TargetName.parse(result.trained_on)}" if result.trained_on else ""
    paid = sum(row.paid_rollouts for row in result.targets)
    titles = ("target", "no skill", "first", "version", "against no skill", "against the first")
    rows = [titles, *(_cells(row) for row in result.targets)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(titles))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(
        [
            f"{head}, {paid} newly run{trained}",
            *lines,
            *(f"{row.target}: {row.reason}" for row in result.targets if row.reason),
            "verdicts: wins/ties/losses of the version, task by task",
        ]
    )


def _cells(row: TargetRow) -> tuple[str, ...]:
    found = row.found
    if found is None:
        return (row.target, row.status, "", "", "", "")
    scores = (f"{tally.score:.3f}" for tally in (found.no_skill, found.first, found.version))
    return (row.target, *scores, _outcome(found.against_no_skill), _outcome(found.against_first))


def _outcome(verdict: Verdict) -> str:
    return f"{verdict.outcome.value} {verdict.wins}/{verdict.ties}/{verdict.losses}"


@render.register
def _(result: Estimated) -> str:
    train, val, test = result.tasks
    gain = (
        f"a gain below {result.resolvable_gain:.1%} of tasks is noise at confidence {result.confidence:g}"
        if result.resolvable_gain is not None
        else f"val is too small to certify any gain at confidence {result.confidence:g}; add tasks"
    )
    return "\n".join(
        [
            f"{result.skill}: {train} train, {val} val, {test} test tasks",
            f"steps: at most {result.steps}, edits per step {_edits(result.edits)}",
            f"rollouts: {result.least_rollouts} to {result.most_rollouts}",
            f"optimizer calls: up to {result.most_calls}",
            f"resolution: {gain}",
            *(_cost(result.cost) if result.cost else []),
            "nothing was run; recorded rollouts would be free",
        ]
    )


def _edits(budgets: Sequence[int]) -> str:
    """Say an edit budget; a long one by its ends."""
    if len(set(budgets)) == 1:
        return f"at most {budgets[0]}"
    shown = map(str, budgets) if len(budgets) <= _SHOWN_STEPS else (str(budgets[0]), "…", str(budgets[-1]))
    return ", ".join(shown)


def _cost(cost: Cost) -> list[str]:
    if not cost.measured_rollouts:
        return ["cost: unknown until this target is measured; run `skillopt evaluate` first"]
    dollars = "price unknown" if cost.usd is None else f"${cost.usd[0]:.2f} to ${cost.usd[1]:.2f}"
    replies = f"{cost.measured_calls} optimizer calls" if cost.measured_calls else "no optimizer call yet, not counted"
    return [
        f"cost: {cost.tokens[0]:,} to {cost.tokens[1]:,} tokens, {dollars}",
        f"measured on {cost.measured_rollouts} rollouts, {replies}",
    ]


@render.register
def _(result: Tuned) -> str:
    lines = [
        f"search {result.study} on {result.skill}: {len(result.attempts)} settings tried, each by {_cases(result)}"
    ]
    lines += [result.reason] if result.reason else []
    if result.recommended is None:
        return "\n".join([*lines, "no settings are measured yet; the same command goes on"])
    lines.append(format_attempts(result.attempts, result.recommended, most=_SHOWN_STEPS))
    if result.check:
        lines.append(f"recommended, on further seeds that chose nothing: {result.check}")
    elif result.recommended:
        lines.append("not compared on further seeds: the scores above are those of a winner, and flatter it")
    told = (
        f"recommended, for skillopt.toml:\n{result.settings.rstrip()}"
        if result.settings
        else ("recommended: the settings in force")
    )
    return "\n".join([*lines, told, f"newly run: {result.paid_rollouts} rollouts", f"plot: {result.plot}"])


def _cases(result: Tuned) -> str:
    return f"{len(result.cases)} runs ({result.cases[0]} to {result.cases[-1].rpartition(' ')[2]}) at most"


@render.register
def _(result: Diagnosis) -> str:
    return "\n".join(f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.found}" for check in result.checks)


@render.register
def _(result: Initialized) -> str:
    lines = [f"{'wrote' if result.created else 'kept'} {result.config}"]
    lines += [
        f"skill {name}: {path}, {f'suite {suite}' if suite else 'no suite yet'}" for name, path, suite in result.skills
    ]
    if not result.skills:
        lines.append("no skills found; name one in the file")
    return "\n".join([*lines, "next: skillopt doctor"])


@render.register
def _(result: Registered) -> str:
    lines = []
    for change in result.changes:
        does = f"would {change.action}" if result.dry_run and change.text else change.action
        place = "from" if change.action == "remove" else "to" if change.action == "add" else "as it is"
        lines.append(f"{change.client}: {does} {place} {change.path}{f', {change.reason}' if change.reason else ''}")
        lines += [f"  {'-' if change.action == 'remove' else '+'} {line}" for line in change.text.splitlines()]
    if not result.program:
        lines.append("skillopt-mcp is not on the PATH; install it with: pipx install skillopt-mcp")
    return "\n".join(lines)


@render.register
def _(result: Evidence) -> str:
    budget = f"at most {result.edit_budget} edits" + (
        f" and {result.token_budget} changed tokens" if result.token_budget else ""
    )
    measured = len(result.failing) + len(result.passing)
    head = (
        f"{result.skill} {result.base}: {measured} of {result.tasks} train tasks measured, "
        f"{len(result.failing)} of them failed at least once; {budget}; {result.looks} proposals measured so far"
    )
    return "\n\n".join(
        [
            head,
            result.text.rstrip(),
            *([f"tried before:\n{_listed(result.rejected)}"] if result.rejected else []),
            *([f"notes of the optimizer model:\n{result.memory}"] if result.memory else []),
            *map(_rollout, (*result.failing, *result.passing)),
        ]
    )


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _rollout(shown: Shown) -> str:
    return f"passed {shown.passed} of {shown.trials} trials\n{shown.text}"


@render.register
def _(result: Tried) -> str:
    if result.refused:
        lines = [f"edit {one.number} refused: {one.edit}: {one.reason}" for one in result.refused]
        return "\n".join([*lines, result.reason])
    lines = [f"tried {result.run} on {result.skill}"]
    lines += [
        f"edit {one.edit.id[1:]} {'kept' if one.kept else 'dropped'}: {one.reason}: {one.edit.summary}"
        for one in result.screened
    ]
    if verdict := result.verdict:
        lines.append(
            f"gate: {verdict.outcome.value}, val score {verdict.before:.3f} -> {verdict.after:.3f}, {verdict.wins} "
            f"better, {verdict.ties} equal, {verdict.losses} worse: {verdict.reason}"
        )
        lines.append(f"this was proposal {result.looks} measured on this suite; the more, the less one verdict says")
    else:
        lines.append(f"nothing reached the gate: {result.reason}")
    lines.append(
        f"committed {result.version[:10]} on branch {result.branch}" if result.version else "nothing committed"
    )
    lines.append(f"asked: {result.rollouts} rollouts, {result.paid_rollouts} newly run")
    return "\n".join(
        [*lines, *(f"spent by the {role}: {spent(usage)}" for role, usage in (result.spent or {}).items())]
    )


def _job(job: Job) -> str:
    return f"{job.id}  {job.skill}: {job.command[0]}, {job.state.value}"


@render.register
def _(result: Jobs) -> str:
    return "\n".join(map(_job, result.jobs)) or "no jobs yet; agents start them through skillopt-mcp"


@render.register
def _(result: JobReport) -> str:
    lines = [_job(result.job), *result.events]
    if result.run is not None:
        lines += [f"spent by the {role}: {spent(usage)}" for role, usage in result.run.spent.items()]
    said = result.job.output if result.job.exit_code is not None else ""
    lines += [part.rstrip() for part in (result.job.progress, said) if part.strip()]
    return "\n".join([*lines, f"next: {result.next_step}"])


@render.register
def _(result: Nightly) -> str:
    lines = [_night(row) for row in result.skills if row.offer.action or row.training is Training.FAILED]
    counts = Counter(row.training.value for row in result.skills)
    told = ", ".join(f"{counts[kind.value]} {kind.value}" for kind in Training if counts[kind.value])
    improved = sum(row.offer.action in ("opened", "updated") for row in result.skills)
    head = f"{improved} improved" if improved else "nothing improved"
    skills = f"{len(result.skills)} skill{'' if len(result.skills) == 1 else 's'}"
    return "\n".join([*lines, f"{head}: {skills} ({told}), {result.rollouts} rollouts begun, {result.price}"])


def _night(row: SkillNight) -> str:
    done = f"pull request {row.offer.action}: {row.offer.url}" if row.offer.action else ""
    failed = f"FAILED: {row.reason}" if row.training is Training.FAILED else ""
    return "; ".join(filter(None, (f"{row.skill}: {failed or done}", failed and done, *row.offer.notes)))


def _then(told: str) -> str:
    """Join what may be empty to what was said before."""
    return f", {told}" if told else ""


@render.register
def _(result: Status) -> str:
    rows = [
        f"{row.run}  {row.started_at}  {row.skill}: {'gate, ' if row.kind == 'gate' else ''}{row.state}"
        f"{'' if row.kind == 'gate' else f', step {row.step}, {row.versions} versions'}"
        f"{'' if row.val is None else f', val {row.val:.3f}'}{_then(expectation(row.val, row.expected))}"
        f"{f' ({row.reason})' if row.reason else ''}"
        f"{''.join(f'{_INDENT}{role}: {spent(usage)}' for role, usage in row.spent.items())}"
        for row in result.runs
    ]
    under_way = [f"job {_job(job)}" for job in result.jobs if job.state is JobState.RUNNING]
    counts = f"recorded: {result.rollouts} rollouts, {result.replies} replies"
    return "\n".join([*under_way, *(rows or ["no runs yet"]), counts])


@render.register
def _(result: Logged) -> str:
    if not result.versions:
        return f"{result.skill}: no versions yet"
    return "\n".join([f"branch {result.branch}", *map(_version, result.versions)])


def _version(version: LoggedVersion) -> str:
    after, stale = version.trailer("Val-After"), version.staleness
    expected = version.trailer("Val-Expected")
    told = _then(f"expect {expected}" if expected else "")
    scores = f"val {version.trailer('Val-Before')} -> {after}{told}" if after else ""
    target = f"trained on {TargetName.parse(version.harness)}" if version.harness else ""
    remark = f"stale: {stale.reason}" if stale.fit is Fit.STALE else stale.reason
    return "  ".join(filter(None, (version.sha[:10], version.at, version.subject, scores, remark or target)))


@render.register
def _(result: Diffed) -> str:
    return result.text or f"{result.skill}: {result.before} and {result.after} are the same"


@render.register
def _(result: RolledBack) -> str:
    return f"{result.branch} is now {result.commit[:10]}, with the text of {result.version[:10]}"


render.register(GateReport, render_gate_text)
render.register(Graphed, render_graph)
render.register(ShownVersion, render_version)
render.register(Blamed, render_blamed)
render.register(Bisected, render_bisected)
