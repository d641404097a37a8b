"""References, scripts and free documents: trained, committed and gated file by file, and refused before spending."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from skillopt.errors import VersionConflictError
from skillopt.loop.edit_checks import check_edits
from skillopt.sandbox.processes import shell_problem
from skillopt.skills.edits import Edit, Op
from skillopt.skills.folder import read_skill
from skillopt.versions.bundles import check_commits
from skillopt.versions.repository import Repository
from tests.fakes.projects import FAST, as_json, git, make_project, skillopt

pytestmark = pytest.mark.process

VALUES = "# How to write values\n\n## Values\n\n- Trim spaces around every value.\n"
RULES = "- Write e-mail addresses in lower case.\n- Write dates as YYYY-MM-DD; numeric dates are day first.\n"
FOLDER = "skills/rows"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project whose skill has a trained reference and script, and a free document."""
    folder = make_project(tmp_path / "project")
    skill, config = folder / FOLDER / "SKILL.md", folder / "skillopt.toml"
    skill.write_text(skill.read_text().partition("\n## ")[0] + "\nRead references/values.md.\n")
    documents = '[documents.agents]\npaths = ["AGENTS.md"]\nsuite = "suites/rows.jsonl"\ngate = "paired"\n'
    config.write_text(f'{config.read_text()}references = "train"\nscripts = "train"\n{documents}')
    files = {f"{FOLDER}/references/values.md": VALUES, f"{FOLDER}/scripts/run.sh": "echo hi\n", "AGENTS.md": VALUES}
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Files")
    return folder


@pytest.mark.parametrize(("name", "file"), [("rows", f"{FOLDER}/references/values.md"), ("agents", "AGENTS.md")])
def test_training_commits_the_file_that_it_changed_alone(project: Path, name: str, file: str) -> None:
    done = as_json(project, "optimize", name, "--set", "confidence=0.7", *FAST)
    assert done["versions"], done["reason"]
    assert git(project, "show", "--format=", "--name-only", done["versions"][-1]).splitlines() == [file]
    assert git(project, "status", "--porcelain") == ""
    short = file.removeprefix(f"{FOLDER}/")
    assert f"--- a/{short}\n+++ b/{short}" in skillopt(project, "diff", name).stdout
    told = as_json(project, "evaluate", name, "--of", "none", "--of", "worktree", "--of", "incumbent")
    passed = [one["tally"]["passed"] for one in told["subjects"]]
    assert passed[0] == passed[1] < passed[2]
    assert skillopt(project, "decline", name, "1").returncode == 0
    assert skillopt(project, "rollback", name, "main").returncode == 0
    assert git(project, "diff", "main", f"skillopt/{name}") == ""


def test_the_gate_measures_a_free_document_and_asks_for_a_person_where_a_script_changes(project: Path) -> None:
    git(project, "switch", "-qc", "mine")
    (project / "AGENTS.md").write_text(VALUES + RULES)
    (project / FOLDER / "scripts" / "run.sh").write_text("echo ho\n")
    git(project, "commit", "-qam", "Mine")
    changes = {one["skill"]: one for one in as_json(project, "gate", "main", "mine")["changes"]}
    assert (changes["agents"]["standing"], changes["agents"]["first_path"]) == ("passed", "AGENTS.md")
    person = [one["path"] for one in changes["rows"]["findings"] if one["person"]]
    assert person == [f"{FOLDER}/scripts/run.sh"]


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        (f"{FOLDER}/scripts/a.py", b"x = (\n", "rows/scripts/a.py: expected a file that can be read as PY"),
        (f"{FOLDER}/scripts/a.sh", b"if true\n", "rows/scripts/a.sh: expected a script that sh can read"),
        (f"{FOLDER}/references/a.md", b"a\xff\n", "rows/references/a.md:1: expected UTF-8, found the byte 0xff"),
        (f"{FOLDER}/references/a.md", b"a\n=== file x ===\n", "references/a.md:2: expected no line '=== file x ==='"),
        (f"{FOLDER}/references/a.md", b"a " * 600_000, "expected at most 200,000 characters to train, found 1,2"),
        (f"{FOLDER}/references/a.md", None, "references/a.md is left out: the symbolic link leads out of"),
    ],
)
def test_what_cannot_be_trained_is_refused_at_once(project: Path, path: str, content: bytes | None, said: str) -> None:
    place = project / path
    if content is None:
        place.symlink_to(os.devnull)
    else:
        place.write_bytes(content)
    ended = skillopt(project, "optimize", "rows")
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr
    assert not (project / ".skillopt" / "ledger.db").exists()


def test_a_chat_and_a_document_without_its_file_are_refused(project: Path) -> None:
    said = skillopt(project, "optimize", "rows", "--harness", "chat/openai/x", "--yes").stderr
    assert "scripts/ and harness 'chat/openai/x'" in said
    (project / "AGENTS.md").unlink()
    assert "AGENTS.md: expected to read" in skillopt(project, "optimize", "agents").stderr
    (project / "AGENTS.md").symlink_to("README.md")
    assert "found a link; list" in skillopt(project, "optimize", "agents").stderr


def test_a_training_job_may_commit_the_files_that_are_trained_and_nothing_else(project: Path) -> None:
    main, repository = git(project, "rev-parse", "main"), Repository(project)
    for path, trained, allowed in (
        (f"{FOLDER}/references/new.md", f"{FOLDER}//references/", True),
        (f"{FOLDER}/scripts/run.sh", f"{FOLDER}//references/", False),
        ("AGENTS.md", ".//AGENTS.md", True),
        ("README.md", ".//AGENTS.md", False),
        (f"{FOLDER}/scripts/run.sh", f"{FOLDER}//references///scripts/", True),
    ):
        git(project, "switch", "-qC", "skillopt/x", "main")
        (project / path).write_text("Changed.\n")
        git(project, "add", "-A")
        git(project, "commit", "-qm", "Changed")
        with nullcontext() if allowed else pytest.raises(VersionConflictError, match=path):
            check_commits(repository, "skillopt/x", git(project, "rev-parse", "HEAD"), trained, [main])


def test_an_edit_that_a_shell_cannot_read_is_refused(project: Path) -> None:
    document = read_skill(project / FOLDER, trained=("references/", "scripts/")).document
    edits = [Edit(f"e{at}", Op.REPLACE, "echo hi", content=text) for at, text in enumerate(("if true", "echo ho"))]
    sound, refused = check_edits(document, edits, (), (), shell_problem)
    assert ([change.edit.id for change in sound], len(refused)) == (["e1"], 1)
