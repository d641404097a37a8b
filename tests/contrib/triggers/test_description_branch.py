"""Of the frontmatter a draft may bring the description alone."""

from pathlib import Path

import pytest

from skillopt.contrib.triggers.description import is_described
from skillopt.errors import VersionConflictError
from skillopt.versions.bundles import check_commits
from skillopt.versions.repository import Repository
from tests.fakes.projects import SKILL, git, make_project, skillopt


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("SKILL.md", SKILL.replace("---\n", "---\nallowed-tools: Bash\n", 1)),
        ("SKILL.md", SKILL.replace("description: ", "description: >\n  ", 1) + "- More.\n"),
        ("scripts/run.sh", "true\n"),
    ],
)
def test_a_draft_changes_nothing_else_outside_of_the_body(tmp_path: Path, path: str, text: str) -> None:
    project = make_project(tmp_path / "project")
    git(project, "switch", "--quiet", "-c", "skillopt-draft/rows")
    place = project / "skills" / "rows" / path
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "A change")
    with pytest.raises(VersionConflictError):
        check_commits(
            Repository(project),
            "skillopt-draft/rows",
            git(project, "rev-parse", "HEAD"),
            "skills/rows",
            [git(project, "rev-parse", "main")],
            is_described,
        )


def test_without_requests_the_command_names_the_file_to_write(tmp_path: Path) -> None:
    ended = skillopt(make_project(tmp_path / "project"), "trigger", "rows")
    assert ended.returncode == 2
    assert "trigger-evals.json" in ended.stderr
