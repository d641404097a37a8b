"""The digest says in a few lines what passes and what changed."""

from skillopt.prompts.digest import write_digest
from skillopt.tasks import Task, VerifierSpec


def task(name: str, *tags: str) -> Task:
    return Task(name, "do", VerifierSpec("exact"), tags=tags)


def test_it_counts_what_passes_by_tag_and_names_what_the_last_patch_fixed_and_broke() -> None:
    outcomes = [(task("a", "dates"), True), (task("b", "dates", "ids"), False), (task("c"), True)]
    text = write_digest(outcomes, ["a"], ["b"], aside=2)
    for line in (
        *("2 of 3 tasks that ran with this very text pass.", "Passing by tag: dates 1 of 2, ids 0 of 1."),
        *("The last patch fixed a.", "The last patch broke b.", "2 more tasks are set aside"),
    ):
        assert line in text
    assert write_digest([]) == ""
