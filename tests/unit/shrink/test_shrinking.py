"""Shrinking: what tasks need stays, bloat goes, what no task exercises is listed, and the verdict is fresh."""

from collections.abc import Collection, Mapping
from random import Random

import pytest

from skillopt.errors import UsageError
from skillopt.gate.grades import Against
from skillopt.loop.events import (
    DraftGraded,
    Event,
    GateDecided,
    RunEnded,
    TextScreened,
    VersionAccepted,
    newest_draft,
)
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.shrink.shrinking import UNEXERCISED, shrink
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.trained_files import join_files, split_text
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with

LINES = [f"- rule {number}" for number in range(12)]
NEEDED = {"- rule 3", "- rule 7"}


def suite(tasks: int = 24) -> Suite:
    rows = [(Split.VAL, Task(f"t{at:02}", f"Do {at}.", VerifierSpec("exact"))) for at in range(tasks)]
    return Suite("s", (*rows, (Split.TEST, Task("held-out", "Do it.", VerifierSpec("exact")))))


def run(
    text: str,
    needs: Collection[str] | Mapping[str, Collection[str]],
    tasks: int = 24,
    *,
    drop_unexercised: bool = False,
    max_rollouts: int | None = None,
) -> tuple[list[Event], list[RolloutRequest]]:
    def answer(request: RolloutRequest) -> Rollout:
        own = needs[request.task.id] if isinstance(needs, Mapping) else needs
        held = set(request.skill.text.splitlines() if request.skill else ())
        return scored(request, float(set(own) <= held))

    runner = ScriptedRunner(answer, lambda prompt: prompt)
    settings = settings_with({} if max_rollouts is None else {"max_rollouts": max_rollouts})
    skill = Skill("x", SkillDocument(text))
    return list(shrink(skill, suite(tasks), settings, runner, drop_unexercised=drop_unexercised)), runner.requests


def body(*lines: str) -> str:
    return "\n".join(["# Rules", "", *lines, ""])


def test_bloat_goes_and_needed_lines_stay_with_the_task_that_needs_them() -> None:
    events, requests = run(body(*LINES), NEEDED)
    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert {line for line in version.text.splitlines() if line.startswith("-")} == NEEDED
    kept = [event for event in events if isinstance(event, TextScreened) and event.kept]
    assert {event.text: bool(event.tasks) for event in kept} == dict.fromkeys(NEEDED, True)
    assert "held-out" not in {request.task.id for request in requests}


def test_the_verdict_runs_both_texts_afresh_on_all_tasks() -> None:
    events, requests = run(body(*LINES), NEEDED)
    first = Stream.SHRINK.repeat(0)
    fresh = [request for request in requests if request.repeat >= first]
    assert len(fresh) == 2 * 24
    assert not {request.repeat for request in requests if request not in fresh} & {one.repeat for one in fresh}
    (gate,) = [event for event in events if isinstance(event, GateDecided)]
    assert "15 points" in gate.verdict.reason


def test_with_ten_tasks_the_short_text_is_a_draft_with_its_interval() -> None:
    events, _ = run(body(*LINES), NEEDED, tasks=10)
    assert not [event for event in events if isinstance(event, VersionAccepted)]
    draft = newest_draft(events)
    assert isinstance(draft, DraftGraded)
    assert draft.grading.low < 0 < draft.grading.high
    assert draft.grading.against is Against.LONGER


def test_tasks_that_all_fail_end_it_before_the_search() -> None:
    events, requests = run(body(*LINES), {"never there"})
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert "nothing can be shown" in ended.reason
    assert {request.skill.text for request in requests if request.skill} == {body(*LINES)}


@pytest.mark.parametrize("lines", [LINES[:1], LINES])
def test_where_every_line_is_needed_nothing_goes(lines: list[str]) -> None:
    events, _ = run(body(*lines), lines)
    assert not [event for event in events if isinstance(event, GateDecided)]


def test_a_section_that_no_task_exercises_is_listed_and_stays_unless_it_is_dropped() -> None:
    text = f"# T\n\n## Used\n\n{chr(10).join(LINES)}\n\n## Releases\n\n- tag it\n"
    events, _ = run(text, NEEDED)
    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert "- tag it" in version.text
    listed = [event.text for event in events if isinstance(event, TextScreened) and event.reason == UNEXERCISED]
    assert listed == ["- tag it"]
    events, _ = run(text, NEEDED, drop_unexercised=True)
    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert "Releases" not in version.text


def test_of_two_lines_that_say_the_same_one_stays() -> None:
    def answer(request: RolloutRequest) -> Rollout:
        text = request.skill.text if request.skill else ""
        return scored(request, float("rule 3" in text or "rule 7" in text))

    runner = ScriptedRunner(answer, lambda prompt: prompt)
    events = list(shrink(Skill("x", SkillDocument(body(*LINES))), suite(), settings_with({}), runner))
    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert sum(line.startswith("-") for line in version.text.splitlines()) == 1


def test_a_task_that_passes_by_chance_and_one_that_always_fails_keep_nothing() -> None:
    draw = Random(4)

    def answer(request: RolloutRequest) -> Rollout:
        text = request.skill.text if request.skill else ""
        missing = [line for line in NEEDED if line not in text]
        if request.task.id == "t00":  # passes in one of four runs, whatever the text says
            return scored(request, float(draw.random() < 0.25), "expected luck, found none")
        if request.task.id == "t01":  # never passes, and needs a line that no other task needs
            missing = ["what nobody knows", *(["rule 5"] if "- rule 5" not in text else [])]
        return scored(request, 1.0 - len(missing) / 4, "\n".join(f"{one} is missing" for one in missing))

    runner = ScriptedRunner(answer, lambda prompt: prompt)
    events = list(shrink(Skill("x", SkillDocument(body(*LINES))), suite(), settings_with({}), runner))
    kept = {event.text: event.tasks for event in events if isinstance(event, TextScreened) and event.kept}
    assert kept.keys() == NEEDED


def test_a_cap_too_small_for_a_verdict_is_refused_before_anything_is_run() -> None:
    with pytest.raises(UsageError, match="at least 96 to shrink"):
        run(body(*LINES), NEEDED, max_rollouts=95)


def test_a_cap_that_ends_the_search_hands_nothing_over() -> None:
    events, requests = run(body(*LINES), {f"t{at:02}": {LINES[at % 12]} for at in range(24)}, max_rollouts=96)
    assert isinstance(events[-1], RunEnded)
    assert events[-1].capped
    assert len(requests) <= 96
    assert newest_draft(events) is None


def test_the_same_call_comes_to_the_same_events() -> None:
    assert run(body(*LINES), NEEDED)[0] == run(body(*LINES), NEEDED)[0]


def test_reference_files_lose_what_no_task_needs_and_go_whole_where_they_are_dropped() -> None:
    files = {
        "SKILL.md": body(*LINES),
        "references/a.md": "# Dates\n\n- rule 20\n- rule 21\n",
        "references/b.md": "# Fonts\n\n- rule 22\n",
    }

    def answer(request: RolloutRequest) -> Rollout:
        text = request.skill.text if request.skill else ""
        return scored(request, float(all(f"{rule}\n" in text for rule in (*NEEDED, "- rule 21"))))

    def shrunk(*, drop: bool) -> dict[str, str]:
        document = SkillDocument(join_files(files.items(), ("references/",)), ("references/",))
        runner = ScriptedRunner(answer, lambda prompt: prompt)
        events = list(shrink(Skill("x", document), suite(), settings_with({}), runner, drop_unexercised=drop))
        (version,) = [event for event in events if isinstance(event, VersionAccepted)]
        assert all(change.edit.file for change in version.changes)
        return {part.path: part.text for part in split_text(version.text)}

    kept = shrunk(drop=False)
    assert (kept["references/a.md"], kept["references/b.md"]) == ("# Dates\n\n- rule 21\n", files["references/b.md"])
    assert shrunk(drop=True).keys() == {"SKILL.md", "references/a.md"}


def test_a_task_that_passed_once_by_chance_is_forgotten_with_all_that_it_seemed_to_need() -> None:
    runs: list[str] = []

    def answer(request: RolloutRequest) -> Rollout:
        text = request.skill.text if request.skill else ""
        runs.append(request.task.id)
        lucky = runs.count("t00") == 1 if request.task.id == "t00" else True
        return scored(request, float(lucky and all(line in text for line in NEEDED)))

    runner = ScriptedRunner(answer, lambda prompt: prompt)
    events = list(shrink(Skill("x", SkillDocument(body(*LINES))), suite(), settings_with({}), runner))
    kept = {event.text: event.tasks for event in events if isinstance(event, TextScreened) and event.kept}
    assert kept.keys() == NEEDED
    assert all("t00" not in tasks for tasks in kept.values())


def test_what_the_verdict_shows_to_be_broken_is_searched_again_and_put_back() -> None:
    judged: list[int] = []

    def answer(request: RolloutRequest) -> Rollout:
        """Need rule 5 in six tasks from the first look on, as where the search was lucky with them."""
        text = request.skill.text if request.skill else ""
        if request.repeat >= Stream.SHRINK.repeat(0):
            judged.append(request.repeat)
        late = {"- rule 5\n"} if judged and request.task.id < "t06" else set[str]()
        return scored(request, float(all(line in text for line in {*NEEDED, *late})))

    runner = ScriptedRunner(answer, lambda prompt: prompt)
    events = list(shrink(Skill("x", SkillDocument(body(*LINES))), suite(), settings_with({}), runner))
    (version,) = [event for event in events if isinstance(event, VersionAccepted)]
    assert "- rule 5" in version.text
    assert len(set(judged)) == 2
