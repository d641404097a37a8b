"""`skillopt harvest`: past sessions become candidates, and candidates tasks when a person says so."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.suites import load_suite
from skillopt.suites.review_file import read_candidates
from tests.fakes.past_sessions import Said, claude_log, codex_log, old_codex_log, write_log
from tests.fakes.planted_secrets import PERSONAL, SECRETS
from tests.fakes.projects import git, make_project, skillopt

pytestmark = pytest.mark.process

CLEAN = Said(
    "Clean the vendor table in data/vendors.csv for the import",
    skill="rows",
    path="data/vendors.csv",
    failed="Bad row 7",
)
AGAINST = Said("No, the dates must be written in ISO form")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = make_project(tmp_path / "project")
    config = made / "skillopt.toml"
    config.write_text(
        f'harvest = ["claude-code", "codex"]\njudge = "anthropic/judge"\n{config.read_text(encoding="utf-8")}',
        encoding="utf-8",
    )
    commit(made, "id,day\n1,20/11/2026\n", "2026-11-19T10:00:00Z")
    commit(made, "id,day\n1,2026-11-20\n", "2026-11-21T10:00:00Z")
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def commit(project: Path, text: str, at: str) -> None:
    (project / "data").mkdir(exist_ok=True)
    (project / "data" / "vendors.csv").write_text(text, encoding="utf-8")
    git(project, "add", ".")
    environment = {**os.environ, "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at}
    subprocess.run(["git", "commit", "--quiet", "-m", "Data"], cwd=project, check=True, env=environment)


def claude(home: Path, cwd: Path | str, *turns: Said, name: str = "one", **fields: object) -> Path:
    folder = "".join(sign if sign.isalnum() else "-" for sign in str(cwd))
    path = home / ".claude" / "projects" / folder / f"{name}.jsonl"
    return write_log(path, claude_log(cwd, turns, name, **fields))


def codex(home: Path, rows: list[dict[str, object]], name: str) -> Path:
    return write_log(home / ".codex" / "sessions" / "2026" / "11" / "20" / f"rollout-{name}.jsonl", rows)


def review(project: Path) -> Path:
    return project / ".skillopt" / "harvest" / "rows"


def waiting_text(project: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in review(project).glob("*.yaml"))


def written(folder: Path) -> Iterator[str]:
    """Return all that stands in a folder, but for git's own."""
    for path in folder.rglob("*"):
        if path.is_file() and ".git" not in path.parts and path.parent.name != "data":
            yield path.read_bytes().decode("utf-8", "replace")


def test_sessions_of_both_clients_become_one_candidate_with_the_old_file(project: Path, home: Path) -> None:
    claude(home, project, CLEAN, AGAINST)
    for number, make in enumerate((codex_log, old_codex_log)):
        codex(home, make(project, [CLEAN], f"c{number}"), str(number))
    ended = skillopt(project, "harvest", "rows", "--json")
    found = json.loads(ended.stdout)

    assert ended.returncode == 0, ended.stderr
    assert (found["sessions"], found["requests"], found["corrected"]) == (3, 3, 1)
    assert [one["why"].split(";")[0] for one in found["skills"][0]["candidates"]] == ["asked 3 times in 3 sessions"]
    text = waiting_text(project)
    assert "1,20/11/2026" in text
    assert "1,2026-11-20" not in text
    assert "written in ISO form" in text


def test_other_folders_headless_runs_sub_agents_and_our_own_rollouts_are_left_out(project: Path, home: Path) -> None:
    claude(home, project, CLEAN, name="head", entrypoint="sdk-cli")
    claude(home, project, CLEAN, name="side", isSidechain=True)
    claude(home, project.parent / "project-of-another", CLEAN)
    claude(home, project / ".skillopt" / "work", CLEAN, name="own")
    codex(home, codex_log(project, [CLEAN], originator="codex_exec"), "exec")
    codex(home, codex_log("/elsewhere", [CLEAN]), "elsewhere")
    ended = skillopt(project, "harvest")

    assert ended.returncode == 1
    assert "2 headless, 3 in other folders, 1" in ended.stdout
    assert not review(project).exists()
    assert "2 sessions" in skillopt(project, "harvest", "--headless").stdout


def test_without_the_consent_of_the_project_nothing_is_read(project: Path, home: Path) -> None:
    claude(home, project, CLEAN)
    config = project / "skillopt.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("harvest", "# harvest"), encoding="utf-8")
    ended = skillopt(project, "harvest")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert 'line `harvest = ["claude-code", "codex"]`' in ended.stderr


def test_planted_secrets_and_personal_data_are_neither_written_nor_printed(project: Path, home: Path) -> None:
    planted = {**SECRETS, **PERSONAL}
    turns = []
    for number, value in enumerate(planted.values()):
        own = " ".join(
            f"{chr(97 + number // 26)}{chr(97 + number % 26)}{end}" for end in ("all", "er", "ing", "s", "ly")
        )
        turns.append(Said(f"Write {own} with {value} in it", skill="rows"))
        turns.append(Said(f"No, take {value} and name it '{value}' in report.md", failed=f"error: bad {value}"))
    for name in ("one", "two", "three"):
        claude(home, project, *turns, name=name)
    # Hosts that a committed file names are known to whoever has the repository.
    filed = [value for name, value in planted.items() if not name.endswith("host")]
    commit(project, "\n".join(filed), "2026-11-19T11:00:00Z")
    claude(home, project, CLEAN, name="four")
    outputs = [skillopt(project, "harvest", "rows", "-n", "200", "--json")]
    shutil.rmtree(review(project))
    outputs.append(skillopt(project, "harvest", "rows", "-n", "200", "--from", str(home)))
    accepted = skillopt(project, "harvest", "rows", "all", "--accept")
    texts = [*written(project), *(part for one in (*outputs, accepted) for part in (one.stdout, one.stderr))]

    assert outputs[1].stdout.count("asked 3 times") == len(planted)
    assert '"asked 3 times' in outputs[0].stdout
    assert accepted.returncode == 0, accepted.stderr
    assert {name for name, value in planted.items() for text in texts if value in text} == set()


def test_candidates_to_keep_become_tasks_and_others_wait_or_are_dropped(project: Path, home: Path) -> None:
    claude(home, project, CLEAN, AGAINST, Said("Sort the other table by its date"))
    skillopt(project, "harvest")
    decide(project, "clean-", "keep")
    ended = skillopt(project, "harvest", "rows", "--accept")
    tasks = {task.id: task for _, task in load_suite(project / "suites" / "rows.jsonl").splits}
    (name,) = (name for name in tasks if name.startswith("clean-the-vendor-table"))

    assert ended.returncode == 0, ended.stderr
    assert [(file.path, file.content) for file in tasks[name].files] == [
        ("data/vendors.csv", b"id,day\n1,20/11/2026\n")
    ]
    assert tasks[name].verifier.kind == "rubric"
    assert [entry.id.rpartition("-")[0] for entry in read_candidates(review(project))] == ["sort-the-other-table"]
    decide(project, "sort-", "drop")
    refused = skillopt(project, "harvest", "rows", "--accept")
    assert (refused.returncode, review(project).exists()) == (2, False)
    assert "expected drafts in" in refused.stderr


def decide(project: Path, start: str, decision: str) -> None:
    (path,) = review(project).glob(f"{start}*.yaml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("decision: open", f"decision: {decision}"), encoding="utf-8")


def test_dropped_candidates_and_what_is_a_task_already_are_not_offered_again(project: Path, home: Path) -> None:
    claude(home, project, CLEAN, Said("Sort the other table by its date"))
    skillopt(project, "harvest")
    waiting = skillopt(project, "harvest")
    assert "2 candidates wait for you" in waiting.stderr
    names = [entry.id for entry in read_candidates(review(project))]
    assert skillopt(project, "harvest", "rows", names[0], "--drop").stdout == "1 dropped, 1 wait\n"
    assert skillopt(project, "harvest", "rows", names[1], "--accept").returncode == 0
    ended = skillopt(project, "harvest", "rows", "--json")

    assert ended.returncode == 1
    assert json.loads(ended.stdout)["skills"][0]["left_out"][0][1].startswith("nearly the same as")


def test_a_log_cannot_name_files_outside_of_the_repository_or_steer_git(project: Path, home: Path) -> None:
    steering = [Said("Clean ../../etc/passwd and --output=x in /etc/passwd", skill="rows", path="../../../etc/passwd")]
    claude(home, project, *steering, gitBranch="--output=/tmp/x", timestamp="--all")
    codex(home, codex_log(project, steering, git={"commit_hash": "--output=x", "branch": "a\nb"}), "one")
    ended = skillopt(project, "harvest", "rows")

    assert ended.returncode == 0, ended.stderr
    assert "root:" not in waiting_text(project)
