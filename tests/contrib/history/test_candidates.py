"""Candidates: one of each group of near copies, with a drafted rubric, and none that is nearly a task already."""

import json
from collections.abc import Iterable

from skillopt.contrib.history.candidates import Candidate, grouped_requests, make_candidate, without_twins
from skillopt.contrib.history.redaction import Redaction
from skillopt.contrib.history.requests import Request
from skillopt.tasks import File, Task, VerifierSpec

LONG = "".join(f"row {number} of the table has the value {number * number}\n" for number in range(30))


def asked(text: str, session: str = "a", **fields: tuple[str, ...]) -> Request:
    corrections, failures = fields.get("corrections", ()), fields.get("failures", ())
    return Request(session, text, ("rows",), corrections, failures, (), "2026-11-20T10:00:00Z", "main", "", "/w")


def nothing(_: str) -> Iterable[str]:
    return ()


def chosen(*requests: Request, files: tuple[File, ...] = (), often: dict[str, int] | None = None) -> list[Candidate]:
    groups = grouped_requests(requests)
    redaction = Redaction(nothing)
    return [make_candidate(group, often or {}, lambda _: ("c" * 40, files), redaction) for group in groups]


def criteria(one: Candidate) -> list[str]:
    found: list[str] = json.loads(one.task.verifier.options)["criteria"]
    return found


def test_near_copies_become_one_candidate_that_knows_all_that_was_said_against_their_results() -> None:
    (found,) = chosen(
        asked("Clean the vendor table 1", "a", corrections=("No, use commas everywhere",)),
        asked("Clean the vendor table 2", "b", corrections=("You forgot the header", "no!")),
        asked("clean the vendor table 3", "c", failures=("KeyError",)),
        often={"KeyError": 3},
    )

    assert criteria(found)[1:] == [
        "The result heeds what the person said of an earlier one: No, use commas everywhere",
        "The result heeds what the person said of an earlier one: You forgot the header",
        "The work does not end in this failure: KeyError",
    ]
    assert found.why.startswith("asked 3 times in 3 sessions")


def test_a_candidate_that_is_nearly_a_task_or_another_candidate_is_left_out() -> None:
    known = Task("known", "Clean the vendor table of May", VerifierSpec("rubric"))
    found = chosen(
        asked("Clean the vendor table of June"), asked("Write a poem on the rain"), asked("Sort the list by its date")
    )
    left = iter(found)
    kept, left_out = without_twins(left, [known], 1)

    assert [one.task.prompt for one in kept] == ["Write a poem on the rain"]
    assert [reason for _, reason in left_out] == ["nearly the same as known"]
    assert [one.task.prompt for one in left] == ["Sort the list by its date"]


def test_requests_on_the_same_large_files_never_become_two_tasks_that_splits_could_part() -> None:
    found = chosen(
        asked("Add up the values of rows"), asked("Find the largest number here"), files=(File("t.txt", LONG.encode()),)
    )
    kept, left_out = without_twins(found, [], 9)

    assert (len(found), len(kept)) == (2, 1)
    assert f"same as {kept[0].task.id}" in left_out[0][1]
