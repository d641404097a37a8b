"""One prompt that fails ends no run; a provider that is away does."""

import json
from collections.abc import Sequence

import pytest

from skillopt.errors import FailureKind, ProviderError, ReplyError
from skillopt.loop.consultation import Optimizer, Stage
from skillopt.testing import ScriptedRunner, scored

STAGE = Stage("", "step 1")


def read(reply: str) -> str:
    if "unreadable" in reply:
        raise ReplyError("expected JSON")
    return reply


def ask(group: Sequence[str]) -> str:
    return f"about {' '.join(group)}"


class Provider:
    """A runner whose provider fails prompts that have a word, with a kind of failure."""

    def __init__(self, poison: str, kind: FailureKind, *, probes: bool = True) -> None:
        self.poison, self.kind, self.probes = poison, kind, probes
        self.runner = ScriptedRunner(lambda request: scored(request, 0.0), self.answer)

    def answer(self, prompt: str) -> str:
        if self.poison in prompt or (prompt.startswith("Task: probe") and not self.probes):
            raise ProviderError(self.kind, f"{self.kind}: no")
        return f"read {prompt}"


@pytest.mark.parametrize(
    "kind", [FailureKind.TOO_LARGE, FailureKind.BAD_REQUEST, FailureKind.OVERLOADED, FailureKind.MALFORMED]
)
def test_a_poisoned_prompt_is_asked_in_halves_and_only_the_half_with_the_poison_is_skipped(kind: FailureKind) -> None:
    provider = Provider("POISON", kind)
    found = Optimizer(provider.runner).consult_in_halves(STAGE, [("e", "f", "g", "POISON")], " ".join, read)
    assert found.replies == ["read e f"]
    ((skipped, reason),) = found.skipped
    assert tuple(skipped) == ("g", "POISON")
    assert f"got no answer: {kind}" in reason


def test_of_several_prompts_each_fails_for_itself() -> None:
    provider = Provider("POISON", FailureKind.SERVER)
    found = Optimizer(provider.runner).consult_in_halves(STAGE, [("a", "b"), ("POISON",)], ask, read)
    assert found.replies == ["read about a b"]
    assert [part for part, _ in found.skipped] == [("POISON",)]


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NETWORK])
def test_what_no_other_prompt_is_spared_ends_the_run_after_one_prompt(kind: FailureKind) -> None:
    provider = Provider("about", kind)
    with pytest.raises(ProviderError):
        Optimizer(provider.runner).consult_in_halves(STAGE, [("a", "b")], ask, read)
    assert len(provider.runner.prompts) == 1


def test_a_provider_that_answers_no_probe_either_is_away() -> None:
    provider = Provider("about", FailureKind.OVERLOADED, probes=False)
    with pytest.raises(ProviderError, match="overloaded"):
        Optimizer(provider.runner).consult_in_halves(STAGE, [("a", "b")], ask, read)
    assert [prompt.splitlines()[0] for prompt in provider.runner.prompts[1:]] == ["Task: probe"] * 6
    assert len(set(provider.runner.prompts)) == 7  # a recorded answer to a probe would hide that nobody answers


def test_a_reply_that_its_repair_does_not_mend_is_asked_for_in_halves() -> None:
    def answer(prompt: str) -> str:
        return "unreadable" if "a b" in prompt else prompt

    runner = ScriptedRunner(lambda request: scored(request, 0.0), answer)
    found = Optimizer(runner).consult_in_halves(STAGE, [("a", "b")], ask, read)
    assert found.replies == ["about a", "about b"]
    assert [prompt.splitlines()[0].split(",")[0] for prompt in runner.prompts] == [
        *("about a b", "Task: repair a reply", "about a", "about b")
    ]


def test_a_lone_question_without_an_answer_is_a_reply_error_as_long_as_others_are_answered() -> None:
    with pytest.raises(ReplyError, match="got no answer: timeout"):
        Optimizer(Provider("about", FailureKind.TIMEOUT).runner).consult(STAGE, "about x", read)
    optimizer = Optimizer(Provider("POISON", FailureKind.TIMEOUT).runner)
    assert optimizer.consult(STAGE, "about y", json.dumps) == '"read about y"'
