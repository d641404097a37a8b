"""The runner: what is paid is recorded first, and what is recorded is never paid again."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from skillopt.errors import InfrastructureError, InvalidMeasurementError
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import Activity, CircuitBreaker, RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.loop.caps import CappedRunner
from skillopt.protocols import Harness, Model, RolloutRequest, Runner
from skillopt.rollouts import Message, Reply, Status, ToolCall, Trajectory, Usage
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.storage.ledger import Ledger
from skillopt.tasks import File, Task, VerifierSpec
from skillopt.testing import InlineExecutor, ScriptedHarness, ScriptedModel, ScriptedRunner, scored
from tests.contracts.runner_contract import RunnerContract

SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n"))
Act = Callable[[RolloutRequest, str], Trajectory]


def task(number: int, **changes: str) -> Task:
    verifier = VerifierSpec(
        changes.pop("verifier", "exact"), changes.pop("options", json.dumps({"value": str(number)}))
    )
    return Task(changes.pop("id", f"t{number}"), f"Say {number}.", verifier, (File("number", b"%d" % number),))


def asked(count: int, repeat: int = 0) -> list[RolloutRequest]:
    return [RolloutRequest(SKILL, task(number), repeat) for number in range(count)]


def echo(_: RolloutRequest, workspace: str) -> Trajectory:
    """Answer with the number in the task's file."""
    return Trajectory(answer=(Path(workspace) / "number").read_text(), usage=Usage(1, 10, 2, 0.25))


class Notes(RunObserver):
    """An observer that remembers."""

    def __init__(self) -> None:
        self.activities: list[Activity] = []
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def activity(self, activity: Activity) -> None:
        self.activities.append(activity)


def runner(
    ledger: Ledger,
    act: Act | Harness = echo,
    *,
    run: str = "run",
    model: Model | None = None,
    observer: RunObserver | None = None,
) -> RecordedRunner:
    harness = ScriptedHarness(act) if callable(act) else act
    drivers = Drivers(harness, model or ScriptedModel(str.upper))
    return RecordedRunner(ledger, run, drivers, observer or RunObserver(), InlineExecutor())


def scores(runner: RecordedRunner, requests: Sequence[RolloutRequest]) -> list[float | None]:
    return [None if rollout.score is None else rollout.score.value for rollout in runner.rollouts(requests)]


def answered(number: int, answer: str) -> Act:
    """Answer one task otherwise and all others rightly."""
    return lambda request, place: Trajectory(answer=answer) if request.task == task(number) else echo(request, place)


class TestRecording:
    def test_each_reply_is_in_the_ledger_before_the_next_is_asked_for(self, ledger: Ledger) -> None:
        seen: list[int] = []

        def look(prompt: str) -> str:
            seen.append(ledger.counts()["reply"])
            return prompt

        runner(ledger, model=ScriptedModel(look)).replies(["a", "b", "c"])
        assert seen == [0, 1, 2]

    def test_what_was_paid_before_a_crash_is_not_paid_again(self, ledger: Ledger) -> None:
        def crash(request: RolloutRequest, workspace: str) -> Trajectory:
            if request.task.id == "t3":
                raise ZeroDivisionError
            return echo(request, workspace)

        with pytest.raises(ZeroDivisionError):
            runner(ledger, crash).rollouts(asked(6))
        harness = ScriptedHarness(echo)
        assert scores(runner(ledger, harness), asked(6)) == [1.0] * 6
        assert [request.task.id for request in harness.requests] == ["t3", "t4", "t5"]

    def test_duplicates_in_one_batch_are_paid_once(self, ledger: Ledger) -> None:
        harness, model = ScriptedHarness(echo), ScriptedModel(str.upper)
        paying = runner(ledger, harness, model=model)
        assert scores(paying, [*asked(2), *asked(2)]) == [1.0] * 4
        assert [reply.text for reply in paying.replies(["a", "b", "a"])] == ["A", "B", "A"]
        assert (len(harness.requests), model.prompts) == (2, ["a", "b"])
        assert (paying.paid_rollouts, paying.paid_calls) == (2, 2)

    @pytest.mark.parametrize(
        "request_",
        [
            RolloutRequest(SKILL, task(0), 1),
            RolloutRequest(None, task(0)),
            RolloutRequest(SKILL.with_document(SkillDocument("# Other\n")), task(0)),
            RolloutRequest(Skill("rows", SKILL.document, (File("run.sh", b""),)), task(0)),
            RolloutRequest(SKILL, task(0, options='{"value": "1"}')),
        ],
    )
    def test_whatever_can_change_the_outcome_is_paid_for(self, ledger: Ledger, request_: RolloutRequest) -> None:
        runner(ledger).rollouts(asked(1))
        paying = runner(ledger)
        paying.rollouts([request_])
        assert paying.paid_rollouts == 1

    def test_another_harness_or_model_is_paid_for(self, ledger: Ledger) -> None:
        runner(ledger).rollouts(asked(1))
        runner(ledger).replies(["a"])
        paying = runner(ledger, ScriptedHarness(echo, "other"), model=ScriptedModel(str.lower, "other"))
        paying.rollouts(asked(1))
        assert [reply.text for reply in paying.replies(["A"])] == ["a"]
        assert (paying.paid_rollouts, paying.paid_calls) == (1, 1)

    def test_a_rollout_recorded_for_another_suite_gets_this_tasks_id(self, ledger: Ledger) -> None:
        runner(ledger).rollouts(asked(1))
        free = runner(ledger)
        renamed = RolloutRequest(SKILL, task(0, id="elsewhere"))
        assert [rollout.task_id for rollout in free.rollouts([renamed, *asked(1)])] == ["elsewhere", "t0"]
        assert free.paid_rollouts == 0

    def test_when_another_process_was_first_its_answer_counts(self, ledger: Ledger) -> None:
        def late(request: RolloutRequest, workspace: str) -> Trajectory:
            runner(ledger, answered(0, "wrong"), run="other").rollouts([request])
            return echo(request, workspace)

        def late_reply(prompt: str) -> str:
            runner(ledger, run="other", model=ScriptedModel(str.title)).replies([prompt])
            return prompt

        slow = runner(ledger, late, model=ScriptedModel(late_reply))
        assert scores(slow, asked(2)) == scores(runner(ledger), asked(2)) == [0.0, 1.0]
        assert [reply.text for reply in slow.replies(["ab"])] == ["Ab"]


class TestFailures:
    @pytest.mark.parametrize("raised", [True, False])
    def test_a_broken_provider_is_missing_data(self, ledger: Ledger, *, raised: bool) -> None:
        def broken(*_: object) -> Trajectory:
            if raised:
                raise InfrastructureError("no answer")
            return Trajectory(status=Status.INFRA_ERROR, reason="no answer", usage=Usage(1))

        (rollout,) = runner(ledger, broken).rollouts(asked(1))
        assert (rollout.status, rollout.score, rollout.reason) == (Status.INFRA_ERROR, None, "no answer")

    @pytest.mark.parametrize(("kind", "options"), [("exact", "{}"), ("regex", '{"pattern": "("}'), ("nonsense", "{}")])
    def test_a_verifier_that_breaks_is_missing_data_and_no_zero(self, ledger: Ledger, kind: str, options: str) -> None:
        request = RolloutRequest(SKILL, task(0, verifier=kind, options=options))
        (rollout,) = runner(ledger).rollouts([request])
        assert (rollout.status, rollout.score) == (Status.INFRA_ERROR, None)
        assert rollout.reason.startswith(f"verifier {kind!r} broke: ")
        assert rollout.trajectory.answer == "0"

    def test_a_timeout_is_the_targets_failure_and_says_so(self, ledger: Ledger) -> None:
        (rollout,) = runner(ledger, lambda *_: Trajectory(status=Status.TIMEOUT, answer="0")).rollouts(asked(1))
        assert rollout.status is Status.TIMEOUT
        assert rollout.score is not None
        assert (rollout.score.value, rollout.score.passed, rollout.score.feedback) == (
            0.0,
            False,
            "not done within 600 s",
        )
        assert ledger.counts()["rollout"] == 1

    def test_a_workspace_that_cannot_be_made_stops_the_run(self, ledger: Ledger) -> None:
        below_a_file = Task("t", "Say.", VerifierSpec("exact"), (File("a", b""), File("a/b", b"")))
        with pytest.raises(InfrastructureError, match="workspace for task 't'"):
            runner(ledger).rollouts([RolloutRequest(SKILL, below_a_file)])

    def test_what_cannot_be_measured_is_said_at_once_and_each_reason_once(self, ledger: Ledger) -> None:
        notes = Notes()
        failing = runner(ledger, lambda *_: Trajectory(status=Status.INFRA_ERROR, reason="refused"), observer=notes)
        failing.rollouts(asked(3))
        assert notes.notices == ["task t0 could not be measured: refused"]

    def test_within_a_run_a_failure_stays_as_the_loop_saw_it(self, ledger: Ledger) -> None:
        going = runner(ledger, lambda *_: Trajectory(status=Status.INFRA_ERROR))
        assert scores(going, asked(1)) == scores(going, asked(1)) == [None]
        going.keep_failures()
        assert scores(going, asked(1)) == [None]
        assert going.paid_rollouts == 1
        again = runner(ledger)
        assert scores(again, asked(2)) == [None, 1.0]
        assert again.paid_rollouts == 1

    def test_another_run_tries_again_and_changes_nothing_for_the_first(self, ledger: Ledger) -> None:
        first = runner(ledger, lambda *_: Trajectory(status=Status.INFRA_ERROR))
        first.rollouts(asked(1))
        first.keep_failures()
        assert scores(runner(ledger, run="other"), asked(1)) == [1.0]
        assert scores(runner(ledger), asked(1)) == [None]


class TestAnswers:
    def test_lone_surrogates_come_back_readable_and_the_same_from_the_ledger(self, ledger: Ledger) -> None:
        bad = "a\ud800b"
        calls = (ToolCall(bad, bad, bad),)
        strange = Trajectory((Message(bad, bad, calls),), bad, (bad,), Status.OK, bad)
        fresh = runner(ledger, lambda *_: strange, model=ScriptedModel(lambda _: bad))
        (rollout,), (reply,) = fresh.rollouts(asked(1)), fresh.replies([bad])
        good = "a?b"
        assert rollout.trajectory == Trajectory(
            (Message(good, good, (ToolCall(good, good, good),)),), good, (good,), Status.OK, good
        )
        assert reply.text == good
        assert runner(ledger).rollouts(asked(1)) == (rollout,)
        assert runner(ledger).replies([bad]) == (reply,)

    def test_usage_counts_recorded_answers_too_and_each_key_once(self, ledger: Ledger) -> None:
        class Priced:
            identity = "priced"

            def worst_case(self, prompt: str, *, system: str = "") -> Usage:
                return Usage(1, len(prompt + system), 20, 0.5)

            def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
                assert not system + schema
                return Reply(prompt, Usage(1, 100, 20, None if prompt == "?" else 0.5))

        for _ in range(2):
            counting = runner(ledger, model=Priced())
            counting.rollouts([*asked(3), *asked(3)])
            counting.replies(["a", "b", "a"])
            assert counting.usage == Usage(5, 230, 46, 1.75)
        counting.replies(["?"])
        assert counting.usage == Usage(6, 330, 66, None, at_least=1.75)


@pytest.mark.parametrize("status", [Status.REFUSAL, Status.LIMIT])
def test_nothing_but_refusals_or_cut_off_answers_is_no_measurement(ledger: Ledger, status: Status) -> None:
    def refuse(_: RolloutRequest, __: str) -> Trajectory:
        return Trajectory(answer="no", status=status, reason="policy 7 forbids it", usage=Usage(1, 10, 2, 0.25))

    for _ in range(2):  # what is recorded by then says the same
        with pytest.raises(InvalidMeasurementError, match=f"4 rollouts.*{status.value}: policy 7 forbids it"):
            runner(ledger, refuse).rollouts(asked(4))


def test_a_single_answer_among_refusals_is_a_measurement(ledger: Ledger) -> None:
    def refuse_most(request: RolloutRequest, workspace: str) -> Trajectory:
        if request.task.id == "t3":
            return echo(request, workspace)
        return Trajectory(status=Status.REFUSAL, reason="no")

    assert scores(runner(ledger, refuse_most), asked(5)) == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_a_run_that_goes_on_does_not_pay_for_its_probe_again(ledger: Ledger) -> None:
    prompts: list[str] = []

    class Paid(ScriptedModel):
        def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - it has none
            return Usage(1, len(prompt), 1, 0.1)

    def model() -> Model:
        def answer(prompt: str) -> str:
            prompts.append(prompt)
            return "ready"

        return Paid(answer)

    runner(ledger, model=model()).rollouts(asked(1))
    runner(ledger, model=model()).rollouts(asked(2))
    assert len(prompts) == 1
    runner(ledger, run="another", model=model()).rollouts(asked(3))
    assert len(prompts) == 2
    assert ledger.spending("another").keys() == {"target", "probe"}, "a probe is no call of the optimizer model"


def test_the_circuit_breaker_opens_after_failures_in_a_row() -> None:
    breaker = CircuitBreaker(3)
    for failure in ("network: a", "network: b", "", "network: c", "network: d"):
        breaker.record(failure)
        breaker.check()
    breaker.record("network: refused")
    with pytest.raises(InfrastructureError, match="3 failures in a row"):
        breaker.check()


class TestRecordedRunner(RunnerContract):
    @pytest.fixture
    def runner(self, tmp_path: Path) -> Iterator[Runner]:
        harness = ScriptedHarness(lambda request, _: Trajectory(answer=request.task.prompt))
        with closing(Ledger.open(tmp_path)) as ledger:
            yield RecordedRunner(
                ledger, "", Drivers(harness, ScriptedModel(str.upper)), RunObserver(), ThreadExecutor(8)
            )


class TestCappedRunner(RunnerContract):
    @pytest.fixture
    def runner(self) -> Runner:
        return CappedRunner(ScriptedRunner(lambda request: scored(request, 0.5), str.upper), Settings(), 0)


def test_what_a_target_over_its_limits_left_is_scored_and_the_feedback_says_why(ledger: Ledger) -> None:
    reason = "limit: the rollout was ended because it used more than 256 processes"
    over = Trajectory(answer="no", status=Status.LIMIT, reason=reason)
    (rollout,) = runner(ledger, lambda *_: over).rollouts(asked(1))
    assert rollout.score is not None
    assert (rollout.status, rollout.score.feedback.splitlines()[0]) == (Status.LIMIT, reason)
