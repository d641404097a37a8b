"""Ablation: every line that stays is one whose absence breaks something, alone or together with others."""

from collections.abc import Sequence
from dataclasses import replace

from skillopt.loop import ablation
from skillopt.loop.ablation import LeaveOut
from skillopt.loop.draft import Line
from skillopt.loop.evidence import TrainEvidence
from skillopt.skills.edits import Edit, Op
from tests.fakes.worlds import World, line, missing, words_of

WORDS = ("alpha", "beta", "gamma", "delta")


def world(*needs: str, tasks: int = 12, **values: object) -> World:
    """Return tasks that each need one of some words, in turn."""
    return World({f"train-{at}": (needs[at % len(needs)],) for at in range(tasks)}, **values)  # type: ignore[arg-type]  # a world


def for_need(place: World, word: str, need: str) -> Line:
    """Return the line that says a word, for tasks that show a need."""
    names = [name for name, needs in place.needs.items() if need in needs]
    return line(word, {name: [need] for name in names})


def ablate(evidence: TrainEvidence, *lines: Line, free: int = 999, full: bool = False) -> list[LeaveOut]:
    """Put lines into the draft, run all tasks with it, and leave each line out."""
    evidence.run(evidence.draft.skill, evidence.tasks)
    evidence.draft.set([*evidence.draft.lines, *lines])
    known = evidence.run(evidence.draft.skill, evidence.tasks)
    return ablation.ablate(evidence, lines, known, lambda: free, full=full)


def kept(found: Sequence[LeaveOut]) -> set[str]:
    return {one.line.edit.id for one in found if one.kept}


def test_what_something_needs_stays() -> None:
    place = world(*WORDS)
    evidence = place.evidence()
    assert kept(ablate(evidence, *(for_need(place, word, word) for word in WORDS))) == set(WORDS)
    assert words_of(evidence.draft.skill) == {"keep", *WORDS}


def test_what_nothing_needs_goes_with_the_words_that_say_so() -> None:
    place = world("alpha")
    evidence = place.evidence()
    found = ablate(evidence, for_need(place, "alpha", "alpha"), for_need(place, "omega", "alpha"))
    assert words_of(evidence.draft.skill) == {"keep", "alpha"}
    (gone,) = [one for one in found if not one.kept]
    assert gone.reason.endswith("no loss without it")


def test_two_lines_of_which_either_will_do_are_not_both_left_out() -> None:
    place = world("alpha|alias")
    evidence = place.evidence()
    ablate(evidence, *(for_need(place, word, "alpha|alias") for word in ("alpha", "alias")))
    assert words_of(evidence.draft.skill) & {"alpha", "alias"}


def test_both_lines_of_a_rule_that_works_only_in_pairs_stay() -> None:
    place = world("alpha+beta")
    found = ablate(place.evidence(), *(for_need(place, word, "alpha+beta") for word in ("alpha", "beta")))
    assert kept(found) == {"alpha", "beta"}


def test_two_tasks_that_failed_without_a_line_and_pass_with_it_alone_need_no_further_run() -> None:
    place = world("alpha")
    evidence = place.evidence()
    (found,) = ablate(evidence, for_need(place, "alpha", "alpha"))
    assert found.kept
    assert not found.without


def test_with_full_evidence_each_line_runs_left_out() -> None:
    place = world("alpha")
    (found,) = ablate(place.evidence(), for_need(place, "alpha", "alpha"), full=True)
    assert found.kept
    assert found.failed == len(found.without) > 0


def test_a_line_of_a_block_stays_for_any_of_the_tasks_that_the_block_cites() -> None:
    place = world("alpha", "beta")
    cited = {name: list(needs) for name, needs in place.needs.items()}
    lines = [line(word, cited, packed=True) for word in ("alpha", "beta", "omega")]
    assert kept(ablate(place.evidence(), *lines)) == {"alpha", "beta"}


def test_lines_of_the_draft_are_not_in_question() -> None:
    place = world("alpha", "beta")
    evidence = place.evidence()
    alpha, beta = for_need(place, "alpha", "alpha"), for_need(place, "beta", "beta")
    evidence.draft.set([alpha])
    assert [one.line for one in ablate(evidence, beta)] == [beta]
    assert set(evidence.draft.lines) == {alpha, beta}


def test_without_rollouts_nothing_goes() -> None:
    place = world("alpha")
    evidence = place.evidence()
    found = ablate(evidence, for_need(place, "alpha", "alpha"), for_need(place, "omega", "alpha"), free=3)
    assert kept(found) == {"alpha", "omega"}


def test_a_replacement_that_nothing_needs_does_not_bring_back_what_it_replaced() -> None:
    place = world("alpha")
    evidence = place.evidence()
    edit = Edit("swap", Op.REPLACE, "- keep", content="- omega", tasks=tuple(place.needs))
    swap = Line(edit, dict.fromkeys(place.needs, missing("alpha")))
    ablate(evidence, for_need(place, "alpha", "alpha"), swap)
    assert words_of(evidence.draft.skill) == {"alpha"}
    assert replace(edit, op=Op.DELETE, content="") in evidence.draft.waiting


def test_one_slip_does_not_keep_a_line_of_a_noisy_target() -> None:
    idle = 0
    for seed in range(20):
        place = world(*WORDS, tasks=16, flips=0.05)
        evidence = place.evidence(seed=seed)
        ablate(evidence, *(for_need(place, word, word) for word in WORDS), for_need(place, f"idle{seed}", "alpha"))
        idle += len(words_of(evidence.draft.skill) - {"keep", *WORDS})
    assert idle <= 3
