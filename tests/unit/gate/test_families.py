"""Tasks whose prompts are near copies but for values are one unit, unless they say otherwise."""

from dataclasses import replace

from skillopt.gate.families import find_families
from skillopt.tasks import File, Task, VerifierSpec

TEMPLATE = (
    "Convert {} kilometres to miles, round the result to two decimals, and answer with the number and nothing else."
)
OTHER = "Write a note on the outage of the payment service for our customers, name the next update, and stay short."


def task(name: str, prompt: str, family: str = "", *files: File) -> Task:
    return Task(name, prompt, VerifierSpec("exact"), files, family=family)


def families(*tasks: Task) -> list[list[str]]:
    found = find_families(tasks)
    return [[name for name in found if found[name] == family] for family in dict.fromkeys(found.values())]


def test_near_copies_but_for_values_are_one_family_and_others_stand_alone() -> None:
    copies = [task(f"km{number}", TEMPLATE.format(number)) for number in (12, 7.5, 1300)]
    others = [task("note", OTHER), task("poem", "Write a poem on rain."), task("sum", "Add 1 and 2.")]
    assert families(*copies, *others) == [["km12", "km7.5", "km1300"], ["note"], ["poem"], ["sum"]]


def test_a_template_of_most_tasks_is_the_job_itself() -> None:
    copies = [task(f"km{number}", TEMPLATE.format(number)) for number in range(5)]
    assert families(*copies, task("note", OTHER)) == [[one.id] for one in copies] + [["note"]]


def test_the_same_prompt_for_other_files_and_short_prompts_are_no_family() -> None:
    pages = {name: " ".join(f"{name}{word}" for word in "abcdefghijklmno") for name in ("x", "y")}
    tasks = [task(name, TEMPLATE, "", File("page.txt", text.encode())) for name, text in pages.items()]
    assert families(*tasks) == [["x"], ["y"]]
    assert families(task("one", "task 1"), task("two", "task 2")) == [["one"], ["two"]]


def test_a_task_may_name_its_family_or_stand_alone() -> None:
    first, second = task("a", TEMPLATE.format(1)), task("b", TEMPLATE.format(2))
    rest = [task("e", "one"), task("f", "two")]
    assert families(first, second, *rest) == [["a", "b"], ["e"], ["f"]]
    assert families(first, replace(second, family="none"), *rest) == [["a"], ["b"], ["e"], ["f"]]
    named = [task("c", "one thing", "units"), task("d", "another thing", "units")]
    assert families(*named, first) == [["c", "d"], ["a"]]
