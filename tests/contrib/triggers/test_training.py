"""Training a description: kept where more training requests go right, accepted by held-out ones, the body untouched."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from benchmarks.demo.harness import DemoHarness
from skillopt.contrib.triggers.loading import DiscoveryRunner, trigger_verifier
from skillopt.contrib.triggers.queries import Query, split_queries
from skillopt.contrib.triggers.training import DescriptionTraining, TrainedDescription, train_description
from skillopt.errors import UsageError
from skillopt.execution.runner import run_rollout
from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Grade
from skillopt.protocols import Discovery, RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.testing import ScriptedRunner
from tests.fakes.triggers import EXPENSES, NEAR_MISSES

BODY = "# expense-claims\n\n- Work step by step.\n"
START = Skill("expense-claims", SkillDocument(f"---\nname: expense-claims\ndescription: Prepares claims.\n---\n{BODY}"))
SIBLING = Skill(
    "sales-summary", SkillDocument("---\nname: sales-summary\ndescription: Summarises sales by region.\n---\n# s\n")
)
QUERIES = [
    *(Query(text, "expense-claims", "x:1") for text in EXPENSES),
    *(Query(text, "", "x:1") for text in NEAR_MISSES),
]
GOOD = (
    "Prepares claims and reimbursement of a business trip: receipts, hotel, taxi, train, meals and mileage. "
    "Not for booking, sales or invoices."
)


def roll(request: RolloutRequest) -> Rollout:
    return run_rollout(DemoHarness(), request, trigger_verifier)


def trained(
    reply: Callable[[str], str], start: Skill = START, terms: DescriptionTraining | None = None
) -> tuple[TrainedDescription, ScriptedRunner]:
    runner = ScriptedRunner(roll, reply)
    asked = DiscoveryRunner(runner, Discovery((SIBLING,)))
    return train_description(start, replace(terms or on(QUERIES), runner=asked)), runner


def on(queries: Sequence[Query]) -> DescriptionTraining:
    train, held_out = split_queries(queries)
    return DescriptionTraining(train, held_out, (SIBLING,), 1, ScriptedRunner(roll, str), Settings())


def says(text: str) -> str:
    return json.dumps({"reasoning": "", "description": text})


def test_nothing_is_trained_where_all_that_goes_wrong_was_cut_off() -> None:
    def cut_off(request: RolloutRequest) -> Rollout:
        done = roll(request)
        return replace(done, trajectory=replace(done.trajectory, reason="limit: turns: 2"))

    runner = DiscoveryRunner(ScriptedRunner(cut_off, lambda _: says(GOOD)), Discovery((SIBLING,)))

    with pytest.raises(UsageError, match="--turns"):
        train_description(START, replace(on(QUERIES), runner=runner))


def test_a_better_description_is_accepted_and_the_body_stays() -> None:
    found, runner = trained(lambda _: says(GOOD))
    assert found.verdict is not None
    assert found.held_out is not None
    assert found.verdict.outcome is Outcome.ACCEPT
    assert found.held_out.recall_after.hits >= 6 > found.held_out.recall_before.hits
    assert found.held_out.false_after.hits == 0
    assert found.description == GOOD
    assert all(request.discovery == Discovery((SIBLING,)) for request in runner.requests)


def test_the_prompt_has_training_requests_and_siblings_and_no_held_out_request() -> None:
    _, runner = trained(lambda _: says(GOOD))
    train, held_out = split_queries(QUERIES)
    assert "sales-summary: Summarises sales" in runner.prompts[0]
    assert all(query.text in runner.prompts[0] for query in train)
    assert not any(query.text in prompt for query in held_out for prompt in runner.prompts)


def test_what_is_refused_unread_or_no_better_is_told_to_the_next_and_never_reaches_the_gate() -> None:
    replies = iter(["no JSON", says("See https://evil.example/x."), says("Writes poems about the sea.")])
    found, runner = trained(lambda _: next(replies))
    assert found.verdict is None
    assert found.description == found.before
    assert [one.outcome.partition(":")[0] for one in found.tried] == ["not read", "refused", found.tried[2].outcome]
    assert found.tried[2].outcome.startswith("mends none of ")
    assert "refused: " in runner.prompts[2]
    assert "makes more training requests" in found.reason


def test_a_description_that_mends_as_much_as_it_breaks_is_not_kept() -> None:
    good = START.with_document(SkillDocument(START.document.text.replace("Prepares claims.", GOOD)))
    found, _ = trained(lambda _: says("Books a taxi, plans meals, finds a hotel. Claims trip receipts."), good)
    assert found.description == GOOD
    assert found.verdict is None


def test_a_description_that_loads_the_skill_wrongly_on_held_out_requests_is_refused() -> None:
    plan = Query("Plan the trip: hotel, taxi and train.", "", "x:1", "test")
    mileage = Query("Reimbursement for mileage, meals and a taxi.", "expense-claims", "x:1", "test")
    more = [*QUERIES, plan, mileage]
    found, _ = trained(lambda _: says(GOOD), terms=on(more))
    assert found.verdict is not None
    assert found.verdict.outcome is Outcome.REJECT
    assert found.verdict.grading.grade is Grade.LIKELY
    assert round(found.verdict.error_spent, 6) == 0.05
    assert found.reason.startswith("refused: it loads")


def test_the_error_that_earlier_trainings_spent_is_not_spent_again() -> None:
    found, _ = trained(lambda _: says(GOOD), terms=replace(on(QUERIES), earlier=(0.0999,)))
    assert found.verdict is not None
    assert found.verdict.outcome is Outcome.INCONCLUSIVE


def test_each_training_has_runs_of_its_own_of_the_held_out_requests() -> None:
    keys = {query.key for query in split_queries(QUERIES)[1]}
    repeats = []
    for number in (0, 1):
        _, runner = trained(lambda _: says(GOOD), terms=replace(on(QUERIES), number=number))
        repeats.append({request.repeat for request in runner.requests if request.task.id in keys})
    assert not repeats[0] & repeats[1]


def test_a_promising_description_that_few_requests_judge_says_how_many_more_would_show_it() -> None:
    few = [*QUERIES[:9], *QUERIES[14:23]]
    found, _ = trained(lambda _: says(GOOD), terms=on(few))
    assert found.verdict is not None
    assert found.verdict.outcome is not Outcome.ACCEPT
    assert found.promising
    more = re.search(r"about (\d+) more held-out requests, of (\d+) new ones, would show a gain", found.reason)
    assert more is not None
    assert 1 <= int(more[1]) == int(more[2]) // 2 <= 10


def test_a_request_that_goes_wrong_with_every_description_is_called_bad() -> None:
    odd = Query("Compose a hymn on autumn leaves.", "expense-claims", "set.json:7", "train")
    replies = iter([says(GOOD), says(f"{GOOD} Of May."), says(f"{GOOD} Of June."), says(f"{GOOD} Of July.")])
    found, _ = trained(lambda _: next(replies), terms=on([*QUERIES, odd]))
    assert found.bad_requests == ("set.json:7: Compose a hymn on autumn leaves.",)
    settled, _ = trained(lambda _: says(GOOD))
    assert settled.bad_requests == ()
