"""The gate in the loop: what is accepted, what waits, what is dropped and remembered; and the grade at the end."""

import json
import re
from collections.abc import Callable, Sequence

import pytest

from skillopt.gate.decide import Outcome
from skillopt.gate.grades import Grade
from skillopt.loop.decision import grade_draft, measure_baseline, run_gate, run_last_gate
from skillopt.loop.events import DraftChanged, DraftGraded, GateDecided, LinesReviewed, StepFailed, VersionAccepted
from skillopt.loop.learning import Learner
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.training_run import TrainingRun
from skillopt.skills.edits import Edit, Op
from tests.fakes.worlds import World, line, named, words_of


def drafted(
    *words: str,
    val: int = 12,
    reply: Callable[[str], str] = str,
    refused: Sequence[PeoplesRefusal] = (),
    **values: object,
) -> TrainingRun:
    """Return a run whose baseline is measured and whose draft says some words; its tasks need `alpha`, or nothing."""
    sizes = (12, val, 0)
    world = World(named([("alpha",), ()], sizes), crashing=frozenset({"poison"}), refused=refused)
    run = world.training(reply, sizes, **values)
    list(measure_baseline(run))
    run.evidence.run(run.draft.skill, run.evidence.tasks)
    propose(run, *words)
    return run


def propose(run: TrainingRun, *words: str) -> None:
    run.draft.set([*run.draft.lines, *(line(word, {"train-0": ["alpha"], "train-2": ["alpha"]}) for word in words)])


def outcome(run: TrainingRun) -> Outcome:
    """Gate the draft."""
    events = list(run_gate(run, 1))
    (decided,) = [event for event in events if isinstance(event, GateDecided)]
    assert any(isinstance(event, VersionAccepted) for event in events) is (decided.verdict.outcome is Outcome.ACCEPT)
    return decided.verdict.outcome


def test_what_is_better_becomes_the_incumbent_and_the_draft_starts_from_it() -> None:
    run = drafted("alpha", val=24)
    assert outcome(run) is Outcome.ACCEPT
    assert words_of(run.draft.incumbent) == {"keep", "alpha"}
    assert not run.draft.lines
    assert run.versions == 1
    assert any("alpha" in summary for summary in run.memory.accepted)


def test_what_builds_on_a_version_has_only_to_be_no_lower() -> None:
    run = drafted("alpha", val=24)
    assert outcome(run) is Outcome.ACCEPT
    propose(run, "omega")
    assert outcome(run) is Outcome.ACCEPT
    assert words_of(run.draft.incumbent) == {"keep", "alpha", "omega"}


def test_what_lowers_a_version_is_dropped_and_remembered() -> None:
    run = drafted("alpha", val=24)
    outcome(run)
    propose(run, "poison")
    assert outcome(run) is Outcome.REJECT
    assert not run.draft.lines
    assert any("poison" in note for note in run.memory.rejected)


def test_a_last_gate_for_which_no_rollout_is_left_says_so_and_the_draft_stays() -> None:
    run = drafted("alpha", max_rollouts=40)
    while run.runner.left > 4:
        run.evidence.run(run.draft.skill, ["train-0"])
        run.runner.release()
    (failed,) = run_last_gate(run, 3)
    assert isinstance(failed, StepFailed)
    assert "rollouts" in failed.reason
    assert run.draft.lines


def test_a_draft_that_waits_at_the_end_is_graded_and_nothing_else_is() -> None:
    run = drafted("omega")
    (graded,) = [event for event in grade_draft(run, Learner(run)) if isinstance(event, DraftGraded)]
    assert graded.grading.grade is Grade.CANNOT_TELL
    assert graded.incumbent == run.draft.incumbent.digest
    assert "- omega" in graded.text
    run.draft.set(())
    assert not list(grade_draft(run, Learner(run)))


def test_fresh_repeats_at_the_end_may_still_prove_a_draft() -> None:
    run = drafted("alpha", val=24)
    events = list(grade_draft(run, Learner(run)))
    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert version.grading is not None
    assert version.grading.grade is Grade.PROVEN
    assert not [event for event in events if isinstance(event, DraftGraded)]


@pytest.mark.parametrize(("accept", "versions"), [("proven", 0), ("here", 1)])
def test_what_was_shown_on_these_tasks_only_becomes_a_version_where_the_settings_take_it(
    accept: str, versions: int
) -> None:
    run = drafted("alpha", accept=accept, gate="paired")
    events = list(grade_draft(run, Learner(run)))
    found = [event.grading for event in events if isinstance(event, VersionAccepted | DraftGraded)]
    assert [grading and grading.grade for grading in found] == [Grade.PROVEN_HERE]
    assert run.versions == versions


def test_an_edit_that_a_person_must_look_at_waits_in_the_draft_and_the_others_become_a_version() -> None:
    run = drafted("alpha", "Run `ssh alpha`", val=24)

    events = list(run_gate(run, 1))

    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert "ssh alpha" not in version.text
    assert "alpha" in version.text
    assert isinstance(events[-1], DraftChanged)
    assert "ssh alpha" in events[-1].text
    assert [edit.content for edit in run.draft.waiting] == ["- Run `ssh alpha`"]


def test_a_draft_of_marked_edits_only_is_not_gated_and_is_graded_without_becoming_a_version() -> None:
    run = drafted("Run `ssh alpha`", val=24)

    events = [*run_gate(run, 1), *grade_draft(run, Learner(run))]

    assert isinstance(events[0], StepFailed)
    assert events[0].reason.startswith("1 edit waits")
    assert not any(isinstance(event, VersionAccepted) for event in events)
    assert isinstance(events[-1], DraftGraded)


@pytest.mark.parametrize(("allow", "versions"), [((), 0), (("refused-before",), 1)])
def test_a_rule_that_people_refused_in_other_words_waits_for_a_person_unless_the_settings_allow_it(
    allow: tuple[str, ...], versions: int
) -> None:
    refused = PeoplesRefusal(Edit("old", Op.ADD, content="- Use alpha always"), "ours are greek", "Ada")
    run = drafted("alpha", val=24, allow=allow, refused=[refused])

    events = [*run_gate(run, 1), *grade_draft(run, Learner(run))]

    assert sum(isinstance(event, VersionAccepted) for event in events) == versions
    assert ("refused by Ada: ours" in str(events[0])) is not versions
    assert isinstance(events[-1], DraftGraded) is not versions


def test_a_draft_that_was_proven_at_the_end_and_has_a_marked_edit_says_that_it_waits_for_a_person() -> None:
    run = drafted("alpha", "Run `ssh alpha`", val=24)

    *_, waits, graded = grade_draft(run, Learner(run))

    assert isinstance(graded, DraftGraded)
    assert graded.grading.grade is Grade.PROVEN
    assert isinstance(waits, StepFailed)
    assert waits.reason.startswith("1 edit waits")
    assert re.search(r"\(line \d+ adds a program that reaches further: 'ssh alpha", waits.reason)


def test_what_the_settings_allow_needs_no_person() -> None:
    run = drafted("alpha", "Run `ssh alpha`", val=24, allow=("program",))

    (version,) = [event for event in run_gate(run, 1) if isinstance(event, VersionAccepted)]

    assert "ssh alpha" in version.text


def reader(*flags: str) -> Callable[[str], str]:
    """Return a reviewer that flags the lines with some of these texts in them."""

    def read(prompt: str) -> str:
        lines = re.findall(r"^\| ([a-z]{5}): (.+)$", prompt, re.MULTILINE)
        found = [label for label, text in lines if any(flag in text for flag in flags)]
        return json.dumps({"flagged": [{"label": label, "reason": "not its task"} for label in found]})

    return read


CONTROL = ".example", "shell profile", "Recommend "


def test_a_line_that_the_reviewer_flags_waits_in_the_draft_and_the_others_become_a_version() -> None:
    run = drafted("alpha", "omega", val=24, reviewer="scripted", reply=reader("omega", *CONTROL))
    events = list(run_gate(run, 1))
    (told,) = [str(event) for event in events if isinstance(event, StepFailed)]
    assert "the reviewer flags line" in told
    assert [event for event in events if isinstance(event, VersionAccepted)]
    assert words_of(run.draft.incumbent) == {"keep", "alpha"}
    assert [words_of(run.draft.build([one])) for one in run.draft.lines] == [{"keep", "alpha", "omega"}]


def test_what_the_reviewer_does_not_read_waits_and_what_it_reads_without_a_flag_is_gated_as_ever() -> None:
    unread = drafted("alpha", val=24, reviewer="scripted", reply=reader())
    events = list(run_gate(unread, 1))
    assert not [event for event in events if isinstance(event, VersionAccepted | GateDecided)]
    (read,) = [event for event in events if isinstance(event, LinesReviewed)]
    assert "not read" in str(read)
    assert outcome(drafted("alpha", val=24, reviewer="scripted", reply=reader(*CONTROL))) is Outcome.ACCEPT
