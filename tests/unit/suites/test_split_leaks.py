"""Leaks between splits: copies of tasks, and answers that stand in prompts."""

import json

from skillopt.suites.split_leaks import find_split_leaks
from skillopt.tasks import File, Split, Suite, Task, VerifierSpec

PROMPT = "Write a polite reply to the customer who asks why the parcel from Lisbon is four days late."
ANSWER = "Customs in Porto held the parcel for an inspection of its papers until Thursday."


def task(name: str, prompt: str, *, reference: str = "", files: tuple[File, ...] = ()) -> Task:
    return Task(
        name, prompt, VerifierSpec("rubric", json.dumps({"criteria": ["Polite."], "reference": reference})), files
    )


def suite(*placed: tuple[Split, Task]) -> Suite:
    return Suite("s", placed)


def test_nearly_the_same_task_in_two_splits_is_a_leak_and_in_one_split_is_none() -> None:
    first, twin = task("a", PROMPT), task("b", f"{PROMPT} Thanks.")
    (leak,) = find_split_leaks(suite((Split.TRAIN, first), (Split.VAL, twin)))
    assert (leak.task, leak.other, leak.parts) == ("a", "b", ("train", "val"))
    assert leak.reason.endswith("of the wording of their prompts is the same")
    assert find_split_leaks(suite((Split.TRAIN, first), (Split.TRAIN, twin))) == ()


def test_tasks_of_one_kind_with_other_data_are_no_leak() -> None:
    files = [
        File("in.csv", f"id,name\n{at},{name}\n{at + 1},{name}son\n".encode()) for at, name in ((1, "Ada"), (7, "Bo"))
    ]
    pair = [
        task(str(at), "Clean the table in `in.csv` as the house rules say.", files=(one,))
        for at, one in enumerate(files)
    ]
    assert find_split_leaks(suite((Split.TRAIN, pair[0]), (Split.TEST, pair[1]))) == ()


def test_an_answer_that_stands_in_its_own_prompt_or_in_that_of_another_split_is_a_leak() -> None:
    told = task("a", f"Say it more shortly: {ANSWER}", reference=ANSWER)
    (leak,) = find_split_leaks(suite((Split.VAL, told)))
    assert (leak.task, leak.other) == ("a", "a")
    assert "its own prompt" in leak.reason
    other = task("b", "Why is it late?", reference=ANSWER)
    found = find_split_leaks(suite((Split.TRAIN, told), (Split.TEST, other)))
    assert [(leak.task, leak.other, leak.parts) for leak in found] == [
        ("a", "a", ("train", "train")),
        ("a", "b", ("train", "test")),
    ]


GUIDE = File("guide.md", f"House rules for the help desk, in full. {ANSWER} {PROMPT}".encode())


def test_files_that_tasks_share_make_neither_twins_nor_leaks_of_answers() -> None:
    first = task("a", PROMPT, reference=ANSWER, files=(GUIDE,))
    second = task("b", "Explain in two sentences how a refund is asked for and who decides on it.", files=(GUIDE,))
    assert find_split_leaks(suite((Split.TRAIN, first), (Split.VAL, second))) == ()
    (leak,) = find_split_leaks(suite((Split.TRAIN, first)))
    assert leak.reason.endswith("stand in its own prompt or its files")


def test_the_same_short_request_for_nearly_the_same_files_is_a_twin_and_for_other_files_is_none() -> None:
    rows = [" ".join(f"{name} owes {at} crowns" for at in range(9)) for name in ("Ada", "Bo")]
    one, same, other = (
        task(name, "Add it up.", files=(GUIDE, File("in.txt", text.encode())))
        for name, text in zip("abc", (rows[0], f"{rows[0]} in all", rows[1]), strict=True)
    )
    (leak,) = find_split_leaks(suite((Split.TRAIN, one), (Split.VAL, same), (Split.TEST, other)))
    assert (leak.task, leak.other) == ("a", "b")
    assert "100% of the wording" in leak.reason
