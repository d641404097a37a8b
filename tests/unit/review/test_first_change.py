"""Where a change is first to be read, and which files a harness does not exercise."""

import pytest

from skillopt.review.checks import find_first_change, find_unmeasured, unexercised_files
from skillopt.settings import Settings, SkillMode
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import File

OLD = Skill("rows", SkillDocument("# Rows\n\n- Trim.\n- Sort.\n"), (File("references/a.md", b"One.\nTwo.\n"),))


def changed(text: str = OLD.document.text, *files: File) -> Skill:
    return Skill("rows", SkillDocument(text), files or OLD.files)


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        (OLD, changed("# Rows\n\n- Trim.\n- Order.\n"), ("SKILL.md", 4)),
        (OLD, changed("# Rows\n\n- Trim.\n- Sort.\n- Check.\n"), ("SKILL.md", 5)),
        (OLD, changed("# Rows\n\n- Trim.\n"), ("SKILL.md", 3)),
        (OLD, changed(""), ("SKILL.md", 1)),
        (OLD, changed(OLD.document.text, File("references/a.md", b"One.\n2.\n")), ("references/a.md", 2)),
        (OLD, changed(OLD.document.text, *OLD.files, File("b.md", b"New.\n")), ("b.md", 1)),
        (None, OLD, ("SKILL.md", 1)),
        (OLD, OLD, ("SKILL.md", 1)),
    ],
)
def test_the_first_changed_line_is_one_of_the_new_text(
    before: Skill | None, after: Skill, place: tuple[str, int]
) -> None:
    assert find_first_change(before, after) == place


def test_harnesses_without_tools_exercise_no_files_and_agents_do() -> None:
    after = changed(OLD.document.text, File("references/a.md", b"Three.\n"), File("run.py", b"print()\n"))
    for harness in ("chat/anthropic/claude-haiku-4-5", "demo"):
        assert unexercised_files(harness, OLD, after) == ("references/a.md", "run.py")
        assert unexercised_files(harness, OLD, OLD) == ()
    for harness in ("claude-code", "codex/gpt-5"):
        assert unexercised_files(harness, OLD, after) == ()


FRONT = "---\nname: rows\ndescription: {}\nmetadata:\n  by: ann\n---\n# Rows\n"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (FRONT.format("Old."), FRONT.format("New."), True),
        (FRONT.format(">\n  Old\n  text."), FRONT.format("New."), True),
        (FRONT.format("Old."), FRONT.format("New.") + "- Trim.\n", False),
        (FRONT.format("Old."), FRONT.format("New.").replace("ann", "bob"), False),
        (FRONT.format("Old."), "# Rows\n", False),
    ],
)
def test_a_change_of_the_description_alone_is_not_measured_by_tasks(before: str, after: str, *, found: bool) -> None:
    old, new = (Skill("rows", SkillDocument(text)) for text in (before, after))
    said = find_unmeasured(Settings(), old, new)
    assert (said is not None and said[0] == "description only") is found
    assert said is None or "`skillopt trigger rows`" in said[1]
    assert find_unmeasured(Settings(skill_mode=SkillMode.DISCOVERY), old, new) is None
