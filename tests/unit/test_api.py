"""The Python API, with models, harnesses and verifiers of its user."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import skillopt
from skillopt import (
    Event,
    Score,
    Settings,
    Skill,
    SkilloptError,
    Split,
    Suite,
    Task,
    VerifierSpec,
    compare,
    evaluate,
    optimize,
)
from skillopt.errors import SettingsError, SuiteError, UnreadRepliesError
from skillopt.execution.calls import OptimizeResult
from skillopt.gate.decide import Outcome
from skillopt.loop.events import HeldOutTestMeasured, RunEnded, RunStarted
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Reply, Trajectory, Usage
from skillopt.skills.document import SkillDocument
from skillopt.testing import ScriptedHarness, ScriptedModel
from tests.fakes.judges import answer

SKILL = Skill(
    "words", SkillDocument("---\nname: words\ndescription: Words.\n---\n# Words\n\n## Rules\n\n- Be brief.\n")
)
WORDS = ("alpha", "beta", "gamma", "delta")
FAST = Settings(confidence=0.8)


class Says:
    """A verifier of its user: the answer must hold a word."""

    def __init__(self, spec: VerifierSpec) -> None:
        self._word: str = json.loads(spec.options)["word"]

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        passed = self._word in trajectory.answer and Path(workspace).is_dir()
        return Score(float(passed), passed=passed, feedback="" if passed else f"missing {self._word}")


def suite(kind: str = "says") -> Suite:
    """Twelve tasks a split, each about one of four words that the skill must hold."""
    return Suite(
        "words",
        tuple(
            (split, Task(f"{split}-{number}", f"Speak {split} {number}.", spec(kind, WORDS[number % 4])))
            for split in Split
            for number in range(12)
        ),
    )


def spec(kind: str, word: str) -> VerifierSpec:
    return VerifierSpec(kind, json.dumps({"word": word}))


def speaker(price: float | None = 0.0) -> ScriptedHarness:
    """A target that says what its skill holds, at a price in US dollars."""

    def act(request: RolloutRequest, workspace: str) -> Trajectory:
        assert not list(Path(workspace).iterdir())
        text = request.skill.document.body if request.skill else ""
        return Trajectory(answer=text, usage=Usage(1, usd=price))

    return Priced(act, price)


class Priced(ScriptedHarness):
    """A scripted harness that costs something."""

    def __init__(self, act: Callable[[RolloutRequest, str], Trajectory], price: float | None) -> None:
        super().__init__(act)
        self._price = price

    def worst_case(self, request: RolloutRequest) -> Usage:  # noqa: ARG002 - each costs the same
        return Usage(1, usd=self._price)


def teach(prompt: str) -> str:
    """Propose the words that the evidence misses."""
    stage = prompt.splitlines()[0].removeprefix("Task: ")
    found = r"missing (\w+)" if stage.startswith("reflect on failures") else r'"content":"- (\w+)"'
    words = dict.fromkeys(re.findall(found, prompt))
    edits = [
        {"op": "add", "section": "Rules", "content": f"- {word}", "tasks": [f"train-{WORDS.index(word)}"]}
        for word in words
    ]
    order = re.findall(r"^\[(\w+)\]", prompt, re.MULTILINE)
    return json.dumps({"diagnosis": "words", "edits": edits, "order": order, "guidance": "", "memory": ""})


def train(harness: ScriptedHarness | None = None, **options: object) -> OptimizeResult:
    given = {"model": ScriptedModel(teach), "verifiers": {"says": Says}, "settings": FAST, **options}
    return optimize(SKILL, suite(), harness=harness or speaker(), **given)  # type: ignore[arg-type]  # each is of its type


def test_a_skill_is_trained_by_own_objects_into_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    events: list[Event] = []
    result = train(on_event=events.append)
    assert all(f"- {word}\n" in result.skill.text for word in WORDS)
    assert [version.text for version in result.versions][-1] == result.skill.text
    assert Outcome.ACCEPT in {verdict.outcome for verdict in result.verdicts}
    assert result.test is not None
    assert (result.test.before.score, result.test.after.score) == (0.0, 1.0)
    assert result.rollouts == result.paid_rollouts == result.usage["target"].calls
    assert result.paid_calls == result.usage["optimizer"].calls > 0
    assert tuple(events) == result.events
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert not result.withheld
    assert not list(tmp_path.iterdir()), "without a store nothing is left"
    assert SKILL.text == SKILL.document.text != result.skill.text


def test_with_a_store_the_same_call_pays_for_nothing_again(tmp_path: Path) -> None:
    first, again = speaker(), speaker()
    one, two = train(first, store=tmp_path / "store"), train(again, store=str(tmp_path / "store" / ".skillopt"))
    assert first.requests
    assert not again.requests
    assert (two.paid_rollouts, two.paid_calls) == (0, 0)
    assert (one.resumed, two.resumed) == (False, True)
    assert (one.run, one.events, one.skill) == (two.run, two.events, two.skill)


def test_an_interrupted_run_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    class Unplugged(Exception):  # noqa: N818 - a plug is pulled, nothing is wrong
        pass

    def stop_at_the_test(event: Event) -> None:
        if isinstance(event, HeldOutTestMeasured):
            raise Unplugged

    with pytest.raises(Unplugged):
        train(store=tmp_path, on_event=stop_at_the_test)
    rest = speaker()
    result = train(rest, store=tmp_path)
    assert result.resumed
    assert not rest.requests
    assert result.events == train().events


def test_replies_of_which_none_can_be_read_are_no_results_and_the_same_call_asks_a_mended_model(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for _ in range(2):
        prose = ScriptedModel(lambda _: "Sure, here is what I think.")
        with pytest.raises(UnreadRepliesError, match="Sure, here"):
            train(model=prose, store=store)
        assert prose.prompts
    mended = train(model=ScriptedModel(teach), store=store)
    assert mended.versions
    assert mended.paid_calls > 0


def test_a_cap_in_dollars_holds_and_the_result_says_so() -> None:
    target = speaker(price=0.01)
    result = train(target, settings=FAST.model_copy(update={"max_usd": 0.6}))
    assert result.usage["target"].usd == pytest.approx(len(target.requests) * 0.01)
    assert 0.24 < len(target.requests) * 0.01 <= 0.6
    assert " of max_usd 0.6 are used" in result.reason
    assert result.skill == SKILL


def test_an_evaluation_counts_tasks_passed_of_how_many() -> None:
    taught = SKILL.with_document(SkillDocument(f"{SKILL.text}- alpha\n"))
    result = evaluate(taught, suite(), repeats=2, harness=speaker(price=0.5), verifiers={"says": Says})
    assert (result.passed, result.measured, result.score) == (3, 12, 0.25)
    assert [len(rollouts) for rollouts in result.tasks.values()] == [2] * 12
    assert result.usage == Usage(24, usd=12.0)
    assert result.tasks["val-1"][0].score == Score(0.0, passed=False, feedback="missing beta")


def test_a_comparison_is_paired_over_tasks_and_says_what_was_fixed() -> None:
    taught = SKILL.with_document(SkillDocument(f"{SKILL.text}- alpha\n- beta\n"))
    result = compare(SKILL, taught, suite(), harness=speaker(), verifiers={"says": Says})
    assert result.verdict.outcome is Outcome.ACCEPT
    assert (result.before.passed, result.after.passed) == (0, 6)
    assert (result.verdict.wins, result.verdict.ties, result.verdict.losses) == (6, 6, 0)
    assert set(result.verdict.fixed) == {f"val-{number}" for number in (0, 1, 4, 5, 8, 9)}


def test_an_own_judge_scores_rubrics_and_without_one_somebody_must_be_named() -> None:
    rubric = VerifierSpec("rubric", json.dumps({"criteria": ["It is brief."]}))
    asked = Suite("judged", ((Split.VAL, Task("a", "Speak.", rubric)),))
    judge = ScriptedModel(answer("y", ("It is brief.",)))
    assert evaluate(SKILL, asked, harness=speaker(), judge=judge).passed == 1
    assert "It is brief." in judge.prompts[-1]
    with pytest.raises(SettingsError, match="judge them, found none"):
        evaluate(SKILL, asked, harness=speaker())


class Mute:
    """What somebody may take for a model."""

    identity = "mute"


class Careless(ScriptedModel):
    """A model that answers with plain text."""

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - it ignores all
        return "hello"  # type: ignore[return-value]  # the mistake that the test is about


class Nameless(ScriptedModel):
    """A model without a name."""

    def __init__(self) -> None:
        super().__init__(teach, identity="")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": Mute()}, "identity, worst_case, reply, found .*Mute"),
        ({"model": ScriptedModel}, "found the class ScriptedModel"),
        ({"model": Nameless()}, "text .* found ''"),
        ({"model": Careless(str)}, "expected a Reply, found 'hello'"),
        ({"judge": 3}, "as judge .* found 3"),
        ({"model": None}, 'pass model="anthropic/MODEL"'),
        ({"harness": None}, 'pass harness="claude-code"'),
        ({"harness": "dmo"}, "found 'dmo'; did you mean 'demo'"),
        ({"harness": ScriptedHarness(lambda *_: None)}, "expected a Trajectory, found None"),  # type: ignore[arg-type]  # as above
        ({"verifiers": [Says]}, "expected verifiers by their"),
        ({"verifiers": {"exact": Says}}, "built in, found 'exact'"),
        ({"verifiers": {"says": 3}}, "VerifierSpec, found 3"),
        ({"verifiers": {"says": lambda _: 3}}, "with score, found 3"),
        ({"settings": 5}, "expected Settings, found 5"),
        ({"settings": {"sede": 5}}, "'sede'; did you mean 'seed'"),
        ({"suite": "suites/words"}, "expected a Suite, found 'suites/words'"),
        ({"skill": "skills/words"}, "expected a Skill, found 'skills/words'"),
    ],
)
def test_a_wrong_object_is_refused_in_one_sentence(options: dict[str, object], message: str) -> None:
    usual = {"skill": SKILL, "suite": suite(), "harness": speaker(), "model": ScriptedModel(teach), "settings": FAST}
    given = {**usual, "verifiers": {"says": Says}, **options}
    with pytest.raises(SkilloptError, match=message) as caught:
        optimize(given.pop("skill"), given.pop("suite"), **given)  # type: ignore[arg-type]  # wrong on purpose
    assert "\n" not in str(caught.value)


def test_a_task_whose_verifier_nobody_makes_is_named_before_anything_runs() -> None:
    target = speaker()
    with pytest.raises(SuiteError, match=r"'train-0'.*'sings'"):
        evaluate(SKILL, suite("sings"), harness=target)
    assert not target.requests


def test_every_public_name_is_there_and_no_other() -> None:
    values = {"Edit", "Rollout", "Score", "Settings", "Skill", "Split", "Suite", "Task", "Verdict", "VerifierSpec"}
    protocols = {"Harness", "Model", "Verifier"}
    verbs = {"compare", "evaluate", "load_skill", "load_suite", "optimize"}
    happened = {"Event", *(event.__name__ for event in Event.__subclasses__())}
    public = values | protocols | verbs | happened | {"SkilloptError", "__version__"}
    assert set(skillopt.__all__) == public == set(dir(skillopt))
    assert all(getattr(skillopt, name) is not None for name in skillopt.__all__)
    with pytest.raises(AttributeError, match="'skillopt' has no attribute"):
        skillopt.optimise  # type: ignore[attr-defined]  # noqa: B018 - the mistake that the test is about


def test_a_setting_is_an_argument_of_its_own_and_overrides_the_others() -> None:
    result = train(settings={"confidence": 0.8, "max_rollouts": 500}, max_rollouts=60)
    assert result.rollouts <= 60
    assert (evaluate(SKILL, suite(), harness=speaker(), verifiers={"says": Says}, workers=1)).measured == 12
    with pytest.raises(SettingsError, match="arguments: unknown setting 'max_rollout'"):
        train(max_rollout=3)


def test_importing_the_calls_imports_no_part_of_the_loop() -> None:
    code = (
        "import sys; from skillopt import Settings, compare, evaluate, load_skill, load_suite, optimize;"
        "print(sorted({'skillopt.loop.optimizer', 'skillopt.targets.client', 'filelock'} & {*sys.modules}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]"


def test_importing_skillopt_alone_imports_nothing_that_takes_long() -> None:
    slow = ["pydantic", "markdown_it", "ruamel", "sqlite3", "typer", "skillopt.api"]
    # Coverage, where it is measured, has imported sqlite3 already.
    code = f"import sys; old = {{*sys.modules}}; import skillopt; print(sorted({{*{slow}}} & {{*sys.modules}} - old))"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]"


def test_a_reply_that_cannot_be_read_is_replayed_by_its_own_run_and_asked_for_again_by_another(tmp_path: Path) -> None:
    prompts: list[str] = []

    def stumble(prompt: str) -> str:
        prompts.append(prompt)
        return "Sure." if len(prompts) == 1 else teach(prompt)

    first = train(model=ScriptedModel(stumble), store=tmp_path)
    again, other = ScriptedModel(teach), ScriptedModel(teach)
    assert train(model=again, store=tmp_path).events == first.events
    train(model=other, store=tmp_path, max_rollouts=900)
    assert again.prompts == []
    assert prompts[0] in other.prompts
