"""The measurement of a corpus counts each kind of skill as what it is."""

from pathlib import Path

import pytest

from benchmarks.corpus import main, measure_checkout, table
from tests.fakes.projects import git

GOOD = "---\nname: x\ndescription: Does x.\n---\nDo x.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus" / "made"
    texts = {
        ".": GOOD,
        "skills/plain": GOOD,
        "plugins/p/skills/plain": GOOD,
        "skills/group/nested": "# No frontmatter\n",
        ".claude/skills/sloppy": "---\nname: sloppy\ndescription: Use when: asked\n---\nDo.\n",
        "skills/open": "---\nname: open\n",
        "node_modules/y": GOOD,
        "private/z": GOOD,
    }
    for path, text in texts.items():
        (folder / path).mkdir(parents=True, exist_ok=True)
        (folder / path / "SKILL.md").write_text(text)
    (folder / ".gitignore").write_text("private/\n")
    (folder / "skills" / "plain" / "CLAUDE.md").symlink_to("SKILL.md")
    (folder / "skills" / "plain" / "out.md").symlink_to("/etc/hostname")
    (folder / ".gemini" / "plain").mkdir(parents=True)
    (folder / ".gemini" / "plain" / "SKILL.md").symlink_to("../../skills/plain/SKILL.md")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    return folder


def test_each_skill_is_counted_once_and_what_is_refused_has_its_reason(checkout: Path) -> None:
    found = measure_checkout(checkout)

    assert (found.files, found.found, found.linked, found.loaded, found.trainable) == (7, 6, 1, 6, 5)
    assert found.missing == ()
    assert [path for path, _ in found.refused] == ["skills/open"]
    assert "a second line '---'" in found.refused[0][1]
    # The skill at the root has the files of all others, too.
    assert [path for path, reason in found.partial if "leads out" in reason] == [".", "skills/plain"]
    assert found.described == 6


def test_the_table_has_a_row_a_checkout_and_the_reasons_below(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(checkout.parent)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:7] == ["made", "7", "6", "1", "6", "5", "6"]
    assert lines[2].startswith("1 repositories")
    assert "refused: 1" in lines


def test_without_folders_it_says_what_it_expects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "expected folders" in capsys.readouterr().err
    assert next(table([])).startswith("repository")
