"""The command `trigger`: measure when the target loads a skill, or train its description."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RunOptions,
    SkillArgument,
    VerboseOption,
    YesOption,
    with_run_options,
)
from skillopt.commands.output import CACHED, SHORT, format_usage, interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import Payment, ask_to_pay, payment_of
from skillopt.contrib.triggers.loading import DiscoveryRunner, QueryLoading, TriggerRate, judge_loading, requests_of
from skillopt.contrib.triggers.plan import TriggerAsk, expect_trainable, plan_triggers
from skillopt.contrib.triggers.run import TrainedTriggers, train_triggers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.comparison import check_coverage
from skillopt.gate.gate import GATE_ROUNDS
from skillopt.rollouts import Stream
from skillopt.safety.escaping import count_noun, escape_terminal, truncate
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.ledger import Ledger

_LONGEST: Final = 90
"""Characters of a request that are shown."""

_TESTS: Final = 6
"""Times that training may run the training requests at most: as they are, and of each description on all."""


@with_run_options
def trigger(
    skill: SkillArgument = None,
    *,
    requests: Annotated[
        list[Path] | None,
        typer.Option("--requests", metavar="FILE", help="Trigger sets, instead of those in the skill's folder."),
    ] = None,
    siblings: Annotated[
        bool, typer.Option("--siblings", help="Also run the trigger sets of the other skills.")
    ] = False,
    train: Annotated[bool, typer.Option("--train", help="Train the description; the body stays as it is.")] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=50, help="Runs of each request.")] = 3,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Most turns of the model in a run.")] = 2,
    options: RunOptions,
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure when the agent loads the skill, or train its description.

    Runs each request of a trigger set with all skills of the project installed, and reports recall and false triggers.
    With --train, a new description is written from a part of the requests and tested on the others; a better one is
    the draft of the skill (`skillopt take`). The first run that costs money asks on a terminal; without a
    terminal a paid agent needs a cap or --yes.
    """
    folder = Path.cwd()
    ask = TriggerAsk(options.select(skill), tuple(folder / one for one in requests or ()), siblings, repeats, turns)
    payment, words = _foresee(ask, train=train)
    if not quiet:
        typer.echo(f"{words}", err=True)
    ask_to_pay(payment, words, yes=yes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        if train:
            show(train_triggers(ask, observer=observer), partial(trained_text, verbose=verbose), as_json=as_json)
        else:
            show(_measure(ask, observer), partial(_measured, verbose=verbose), as_json=as_json)


def _measured(result: Mapping[str, Any], *, verbose: bool) -> str:
    quality = result["quality"]
    lines = [
        f"{_rate(quality.recall)} requests that should load {result['skill']} did (recall)",
        f"{_rate(quality.false_triggers)} requests that should not load it did",
    ]
    said = f"{count_noun(result['repeats'], 'run')} each; {result['harness']}"
    lines.append(f"beside {count_noun(result['beside'], 'other skill')}, {said}")
    if quality.cut_off:
        lines.append(
            f"{count_noun(quality.cut_off, 'run')} cut off at {result['turns']} turns, before the agent answered"
        )
    if quality.unsteady:
        lines.append(f"{quality.unsteady} requests differ from run to run")
    if quality.missing:
        lines.append(f"{quality.missing} requests could not be measured")
    lines += map(_query, (row for row in quality.queries if verbose or (row.runs and not row.right)))
    lines += _remarks(result["skipped"])
    lines.append(f"used: {result['paid_rollouts']} new runs; {CACHED}")
    lines += [f"spent by the {role}: {format_usage(usage, role)}" for role, usage in result["spent"].items()]
    if any(row.runs and not row.right and not row.undecided for row in quality.queries):
        lines.append(f"next: skillopt trigger {result['skill']} --train")
    elif quality.cut_off:
        lines.append(f"next: skillopt trigger {result['skill']} --turns {2 * result['turns']}")
    return "\n".join(lines)


def _rate(rate: TriggerRate) -> str:
    if not rate.of:
        return "0 of 0"
    return f"{rate.hits} of {rate.of} ({rate.hits / rate.of:.0%}, 95% interval {rate.low:.0%} to {rate.high:.0%})"


def _query(row: QueryLoading) -> str:
    """Write a request with what was loaded for it."""
    shown = truncate(escape_terminal(" ".join(row.query.split())), _LONGEST)
    loaded = ", ".join(f"{escape_terminal(name)} {runs}" for name, runs in row.loaded.items())
    verdict = "cut off" if row.undecided else "not measured" if not row.runs else "right" if row.right else "wrong"
    return f"  {verdict}: {shown}  [{loaded or '-'}]  {escape_terminal(row.place)}"


def _remarks(skipped: tuple[str, ...]) -> Iterator[str]:
    if skipped:
        yield f"{len(skipped)} items say nothing about loading; the first: {escape_terminal(skipped[0])}"


def trained_text(result: "TrainedTriggers", *, verbose: bool) -> str:
    """Write the result of training or shortening a description."""
    before, after = result.train_before, result.train_after
    lines = [
        f"{after.hits} of {after.of} training requests go right with the best description, {before.hits} before",
        *_held_out(result),
        escape_terminal(result.reason),
    ]
    if result.description != result.before:
        lines += ["before: " + escape_terminal(result.before), "after:  " + escape_terminal(result.description)]
    for one in result.bad_requests:
        lines.append(
            f"bad request, wrong with every description: {escape_terminal(one)}; correct its label or its words"
        )
    if verbose:
        lines += [f"  {escape_terminal(one.outcome)}: {escape_terminal(one.text)}" for one in result.tried]
    lines += _remarks(result.skipped)
    if result.error.spent:
        left = f"{result.error.left:.3f} of {result.error.allowed:.2f}"
        lines.append(f"error left for further trainings on these held-out requests: {left}; new requests bring more")
    lines.append(f"used: {result.paid_rollouts} new runs, {result.paid_calls} new calls; {CACHED}")
    lines += [f"spent by the {role}: {format_usage(usage, role)}" for role, usage in result.spent.items()]
    if result.commit:
        lines.append(f"description on branch {result.branch}: {result.commit[:SHORT]}")
        accepted = result.verdict is not None and result.verdict.accepted
        more = "" if accepted else "write more requests and run this again, or "
        review = f"skillopt diff {result.skill} draft"
        lines.append(f"next: {more}skillopt take {result.skill}    (review it first: {review})")
    else:
        lines.append("no description was accepted; nothing was committed")
    return "\n".join(lines)


def _held_out(result: "TrainedTriggers") -> Iterator[str]:
    seen = result.held_out
    if seen is None:
        return
    yield f"{seen.requests} of {result.held_out_requests} held-out requests were run, {seen.runs} runs of both"
    yield f"held-out requests that should load it and did: {_rate(seen.recall_after)}, {seen.recall_before.hits} before"
    yield (
        f"held-out requests that should not load it and did: {_rate(seen.false_after)}, {seen.false_before.hits} before"
    )
    if not seen.siblings:
        yield "none of them is for another skill; skillopt trigger --siblings runs theirs too, and shows which it takes"
    for one in seen.siblings:
        yield f"held-out requests that should load {one.skill} and did: {_rate(one.after)}, {one.before.hits} before"


def _foresee(ask: TriggerAsk, *, train: bool) -> tuple[Payment, str]:
    """Foresee whether the command is paid for, and say what it will run; nothing is run."""
    plan = plan_triggers(ask)
    settings, asked = plan.settings, len(plan.queries.queries)
    models = (settings.model,) if train else ()
    runs, words = asked * ask.repeats, f"{count_noun(asked, 'request')}, {count_noun(ask.repeats, 'run')} each"
    if train:
        expect_trainable(plan)
        trained, held_out = plan.split
        runs = len(trained) * ask.repeats * _TESTS + len(held_out) * GATE_ROUNDS * 2
        words = f"{len(trained)} training and {len(held_out)} held-out requests, at most {runs} runs in all"
    turns, beside = count_noun(ask.turns, "turn"), count_noun(len(plan.beside), "other skill")
    words += f", each of at most {turns}, beside {beside}"
    return payment_of(plan.project.root, settings, (settings.harness, *models)), words


def _measure(ask: TriggerAsk, observer: RunObserver) -> dict[str, Any]:
    """Measure when the target loads a skill."""
    plan = plan_triggers(ask)
    drivers = plan.drivers(optimizer=False)
    queries = plan.queries.queries
    with closing(Ledger.open(plan.project.root)) as ledger:
        recorded = RecordedRunner(ledger, "", drivers, observer)
        first = Stream.TRIGGERS.repeat(0)
        requests = requests_of(plan.skill, queries, range(first, first + ask.repeats))
        rollouts = DiscoveryRunner(recorded, plan.discovery).rollouts(requests)
    check_coverage("requests", rollouts, plan.settings.coverage)
    return {
        "skill": plan.skill.name,
        "harness": drivers.harness.identity,
        "repeats": ask.repeats,
        "turns": ask.turns,
        "beside": len(plan.beside),
        "description": len(listed_description(plan.skill.document)),
        "quality": judge_loading(plan.skill.name, queries, rollouts),
        "skipped": plan.skipped,
        "paid_rollouts": recorded.paid_rollouts,
        "spent": drivers.meter.by_role,
    }
