"""Shortening a description: what can go by training requests, judged by held-out ones; unexercised parts stay."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.demo.harness import DemoHarness
from skillopt.contrib.triggers.loading import DiscoveryRunner, trigger_verifier
from skillopt.contrib.triggers.queries import Query, split_queries
from skillopt.contrib.triggers.shortening import MOST_SHORTENINGS, cut_description, shorten_description
from skillopt.contrib.triggers.training import DescriptionTraining, TrainedDescription
from skillopt.execution.runner import run_rollout
from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Against, Grade
from skillopt.prompts.descriptions import TriedDescription
from skillopt.protocols import Discovery, RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.testing import ScriptedRunner
from tests.fakes.triggers import EXPENSES, NEAR_MISSES

NEEDED = "Prepares claims and reimbursement of a trip: receipts, hotel, taxi, train, meals and mileage"
REPEATED = "Receipts, hotel and taxi, train, meals of a trip: claims, reimbursement, mileage."
EMBASSIES = "Converts allowances at embassy rates."
QUERIES = [Query(text, "expense-claims" if text in EXPENSES else "", "x:1") for text in (*EXPENSES, *NEAR_MISSES)]


def roll(request: RolloutRequest) -> Rollout:
    return run_rollout(DemoHarness(), request, trigger_verifier)


def shortened(
    description: str, queries: Sequence[Query] = QUERIES, *, drop: bool = False, refused: str = ""
) -> tuple[TrainedDescription, ScriptedRunner]:
    runner, (train, held_out) = ScriptedRunner(roll, str), split_queries(queries)
    training = DescriptionTraining(train, held_out, (), 1, DiscoveryRunner(runner, Discovery(())), Settings())
    if refused:
        training = replace(training, refused=(TriedDescription(refused, "people refused it"),))
    document = SkillDocument(f"---\nname: expense-claims\ndescription: '{description}'\n---\n# Claims\n\n- Work.\n")
    return shorten_description(Skill("expense-claims", document), training, drop=drop), runner


@given(st.text(alphabet='aB ,;.!?()"\u2014\u3002\u3001', max_size=60))
def test_a_cut_description_joined_again_is_the_same(text: str) -> None:
    text = " ".join(text.split())
    assert "".join("".join(parts) for parts in cut_description(text)) == text


def test_abbreviations_end_no_sentence_and_scripts_without_spaces_are_cut() -> None:
    assert len(cut_description("Reads files, e.g. Excel ones. Writes them.")) == 2
    assert cut_description("処理表格、合并文件。整理。") == [("処理表格", "、合并文件", "。"), ("整理", "。")]


def test_what_says_the_same_again_goes_and_what_requests_need_stays() -> None:
    found, runner = shortened(f"{NEEDED}. {REPEATED}")
    assert found.description.startswith("Prepares claims and reimbursement")
    assert len(found.description) <= len(NEEDED) + 1
    assert found.verdict is not None
    assert found.held_out is not None
    assert found.verdict.outcome is Outcome.ACCEPT
    assert found.held_out.recall_after.hits >= found.held_out.recall_before.hits == 7
    assert found.verdict.grading is not None
    assert (found.verdict.grading.grade, found.verdict.grading.against) == (Grade.PROVEN_HERE, Against.LONGER)
    assert "20 points" in found.reason
    held_out = {query.key for query in split_queries(QUERIES)[1]}
    judged = [one for one in runner.requests if one.task.id in held_out]
    assert [one.repeat for one in judged] == [Stream.SHRINK.repeat(0)] * 2 * len(held_out)
    assert not runner.prompts


def test_a_part_that_no_request_is_about_stays_and_is_named_unless_it_may_be_dropped() -> None:
    kept, _ = shortened(f"{NEEDED}. {REPEATED} {EMBASSIES}")
    assert kept.description.endswith(EMBASSIES)
    assert f"about it: {EMBASSIES[:-1]}" in kept.reason
    dropped, _ = shortened(f"{NEEDED}. {REPEATED} {EMBASSIES}", drop=True)
    assert EMBASSIES not in dropped.description


def test_a_second_look_at_a_text_that_keeps_the_words_of_requests_follows_where_held_out_ones_are_lost() -> None:
    visas = Query("Claim visas of my trip.", "expense-claims", "x:1", "train")
    more = [*QUERIES, visas, replace(visas, text="Pay visas, meals now.", split="test")]
    found, runner = shortened(f"{NEEDED}. Works quickly, offline. Visas. {REPEATED}", more, drop=True)
    assert found.verdict is not None
    assert found.verdict.outcome is Outcome.ACCEPT
    assert "Visas" in found.description
    assert REPEATED not in found.description
    assert "offline" not in found.description
    looks = {one.repeat for one in runner.requests} - {Stream.LEARNING.repeat(0)}
    assert looks == {Stream.SHRINK.repeat(0), Stream.SHRINK.repeat(1)}


def test_a_text_that_loses_held_out_requests_is_refused_and_the_search_did_not_see_them() -> None:
    chairs = Query("Rent chairs, tables for the fair.", "expense-claims", "x:1", "test")
    more = [*QUERIES, chairs, Query("Rent chairs, tables, now.", "expense-claims", "x:1", "test")]
    found, runner = shortened(f"{NEEDED}. Rents chairs and tables.", more, drop=True)
    assert found.verdict is not None
    assert found.verdict.outcome is Outcome.REJECT
    assert "7 of 9 held-out requests" in found.reason
    learning = {one.task.id for one in runner.requests if one.repeat == Stream.LEARNING.repeat(0)}
    assert chairs.key not in learning


def test_a_skill_that_few_of_its_requests_load_is_left_as_it_is_after_one_measurement() -> None:
    description = "Merges files, cells and rows. Also sheets."
    found, runner = shortened(description, drop=True)
    assert (found.description, found.tried, found.verdict) == (description, (), None)
    said = "0 of 7 training requests that should load it do, too few to see a loss by"
    assert f"{said}; next: skillopt trigger" in found.reason
    assert len(runner.requests) == len(split_queries(QUERIES)[0])


def test_a_text_that_people_refused_is_not_tried_and_the_search_is_bounded() -> None:
    found, _ = shortened(f"{NEEDED}. {REPEATED}", refused=f"{NEEDED}.")
    assert any(one.outcome == "refused: people refused it" for one in found.tried)
    assert found.description != f"{NEEDED}."
    long, _ = shortened(f"{NEEDED}. " + " ".join(f"Claims trip {word} receipts." for word in "abcdefghijklmnopqrst"))
    assert 1 <= len(long.tried) <= MOST_SHORTENINGS


def test_brackets_are_never_left_open() -> None:
    found, _ = shortened(f"{NEEDED}. Receipts (hotel, taxi, train) of a trip, meals.", drop=True)
    assert found.tried
    assert all(one.text.count("(") == one.text.count(")") for one in found.tried)
