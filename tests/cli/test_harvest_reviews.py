"""`skillopt harvest --reviews`: what reviewers say again and again becomes tasks with a check, and an edit to try."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.commands import harvest_reviews
from skillopt.project import Selection
from skillopt.rollouts import Trajectory
from skillopt.runs.proposal import check, parse_proposal
from skillopt.suites import load_suite
from skillopt.tasks import Task
from skillopt.verifiers import load_verifier
from tests.fakes.fake_forge import FAULTS, FakeForge, fake_forge
from tests.fakes.planted_secrets import SECRETS
from tests.fakes.projects import git, make_project, skillopt
from tests.fakes.reviewed import SAID, Reviewed, export, make_reviewed

TOKEN = "ghp_" + "c3" * 18
DOCUMENT = '[documents.house]\npaths = ["AGENTS.md"]\nsuite = "suites/house.yaml"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_project(tmp_path / "project")
    config = made / "skillopt.toml"
    config.write_text(f"{config.read_text(encoding='utf-8')}\n{DOCUMENT}", encoding="utf-8")
    (made / "AGENTS.md").write_text("# House rules\n\n- Write tests.\n", encoding="utf-8")
    git(made, "add", ".")
    git(made, "commit", "--quiet", "-m", "Rules")
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def reviewed(project: Path) -> list[Reviewed]:
    return list(make_reviewed(project))


@pytest.fixture
def exported(tmp_path: Path, reviewed: list[Reviewed]) -> Path:
    return export(tmp_path / "comments.json", [one.row() for one in reviewed])


@pytest.fixture
def forge(project: Path, reviewed: list[Reviewed], monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    git(project, "init", "--quiet", "--bare", "../origin.git")
    git(project, "push", "--quiet", "../origin.git", *(f"step{one.number}" for one in reviewed))
    with fake_forge(project.parent / "origin.git") as made:
        for one in reviewed:
            about = {
                "title": f"Add step {one.number}",
                "body": "So that rows are done.\nuse logger.info instead of print",
            }
            made.pulls[one.number] = {
                "number": one.number,
                "branch": f"step{one.number}",
                "base": "main",
                "state": "open",
                "sha": "",
                "draft": False,
                "merged_at": None,
                "author": "author",
                **about,
            }
            made.review(one.number, one.author, one.path, 7, one.text, one.before)
        for one in reviewed:
            git(project, "branch", "--quiet", "-D", f"step{one.number}")
        git(project, "reflog", "expire", "--expire=now", "--all")
        git(project, "gc", "--quiet", "--prune=now")
        for name, value in (("GH_TOKEN", TOKEN), ("GITHUB_API_URL", made.url), ("GITHUB_REPOSITORY", made.name)):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("SKILLOPT_FORGE", "github")
        monkeypatch.setenv("SKILLOPT_RETRY_SECONDS", "0")
        yield made


def harvested(project: Path, *arguments: str, expect: int = 0) -> dict[str, Any]:
    ended = skillopt(project, "harvest", "house", "--reviews", "--json", *arguments)
    assert ended.returncode == expect, ended.stderr
    return dict(json.loads(ended.stdout))


def written(project: Path) -> list[Path]:
    return [path for path in (project / ".skillopt" / "harvest").rglob("*.*") if path.is_file()]


def tasks(project: Path) -> list[Task]:
    return [task for _, task in load_suite(project / "suites" / "house.yaml").splits]


def passes(task: Task, text: str, place: Path) -> bool:
    path = place / task.files[0].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load_verifier(task.verifier).score(Trajectory(), str(place)).passed


def test_a_rule_is_shown_with_its_links_and_becomes_tasks_whose_check_tells_before_from_after(
    project: Path, exported: Path, reviewed: list[Reviewed], tmp_path: Path
) -> None:
    found = harvested(project, "--from", str(exported))
    (rule,) = found["rules"]
    assert rule["why"].startswith(
        "said 4 times by 3 people over 4 pull requests (https://github.com/acme/skills/pull/1#"
    )
    assert (rule["tasks"], rule["judged"]) == (4, 0)

    accepted = skillopt(project, "harvest", "house", rule["id"], "--accept")
    assert accepted.returncode == 0, accepted.stderr
    assert "the rule as an edit: skillopt propose " in accepted.stdout
    made = tasks(project)
    assert [task.files[0].path for task in made] == [one.path for one in reviewed]
    assert [task.id for task in made] == [f"2026-03-0{at}-{rule['id']}-{at}" for at in (1, 2, 3, 4)]
    for task, one in zip(made, reviewed, strict=True):
        before, after = (git(project, "show", f"{commit}:{one.path}") + "\n" for commit in (one.before, one.after))
        assert task.files[0].content.decode() == before
        assert not passes(task, before, tmp_path / "a")
        assert passes(task, after, tmp_path / "b")
        assert not passes(task, "logger.info('all else is gone')\n", tmp_path / "c")
        assert "logger" not in task.prompt


def test_the_edit_of_an_accepted_rule_can_be_tried_as_any_edit(project: Path, exported: Path) -> None:
    (rule,) = harvested(project, "--from", str(exported))["rules"]
    accepted = json.loads(skillopt(project, "harvest", "house", rule["id"], "--accept", "--json").stdout)
    (command,) = accepted["edits"]
    offered = parse_proposal(Path(command.split()[2]))
    assert offered.edits[0].content == "- Use logger.info instead of print here"
    assert check(Selection("house"), offered) == ()


def test_a_forge_gives_what_the_clone_lacks_and_its_token_is_written_nowhere(project: Path, forge: FakeForge) -> None:
    forge.review(1, "lint[bot]", "src/step1.py", 7, SAID[0], "0" * 40)
    forge.review(1, "ada", "src/step1.py", 7, "Done", "0" * 40, in_reply_to_id=1)
    forge.review(1, "ada", "src/gone.py", 7, SAID[0], "0" * 40)
    forge.review(1, "author", forge.reviews[0]["path"], 7, SAID[0], forge.reviews[0]["original_commit_id"])
    found = harvested(project)
    (rule,) = found["rules"]
    assert rule["tasks"] == 4
    assert found["left_out"] == {
        "of bots": 1,
        "replies or of the author": 2,
        "of which a file is not here (git fetch origin 'refs/pull/*/head')": 1,
    }
    assert forge.writes == []
    texts = [path.read_text(encoding="utf-8") for path in written(project)]
    assert len(texts) == 5
    assert any("Add step 1" in text and "So that rows are done." in text for text in texts)
    assert not any("So that rows are done.\n    use logger" in text or TOKEN in text for text in texts)


@pytest.mark.parametrize(("fault", "words"), [("403 secondary limit", "wait 3 s"), ("429", "wait 2 s"), ("404", "404")])
def test_a_forge_that_refuses_is_named_with_the_time_to_wait(
    project: Path, forge: FakeForge, fault: str, words: str
) -> None:
    forge.fault = lambda _: FAULTS[fault]
    ended = skillopt(project, "harvest", "house", "--reviews")
    assert ended.returncode not in (0, 1)
    assert words in ended.stderr
    assert TOKEN not in ended.stderr


def test_remarks_without_a_change_in_their_place_and_nits_of_a_formatter_are_counted_and_left_out(
    project: Path, reviewed: list[Reviewed], tmp_path: Path
) -> None:
    before = "".join(f"line {number}\n" for number in range(40))
    rows = [one.row() for one in reviewed]
    rows[0] |= {"before": before, "after": before.replace("line 30", "another")}
    rows[1] |= {"before": before, "after": before.replace("line 6\n", "  line  6\n")}
    rows.append(reviewed[2].row(id=9, before="x\n" * 100_001, after="y\n", html_url=None, pull_request_url="/pulls/9"))
    path = export(tmp_path / "comments.json", rows)
    shown = skillopt(project, "harvest", "house", "--reviews", "--from", str(path)).stdout.splitlines()
    left_out = "1 without a change in their place, 1 nits that a formatter fixes, 1 in large files"
    assert shown[:2] == ["1 rule in 5 remarks of people", f"left out: {left_out}"]
    assert shown[4] == "  2 tasks, all with a pattern as check"
    assert shown[5].startswith("next: read the files in ")


def test_where_no_pattern_tells_before_from_after_a_judge_is_asked_for_at_acceptance(
    project: Path, reviewed: list[Reviewed], tmp_path: Path
) -> None:
    rows = [
        one.row(before="a\n" * 6 + f"x{one.number}\n", after="a\n" * 6 + f"y{one.number}\n", title="Tidy up")
        for one in reviewed
    ]
    found = harvested(project, "--from", str(export(tmp_path / "comments.json", rows)))
    (rule,) = found["rules"]
    assert rule["judged"] == 4
    ended = skillopt(project, "harvest", "house", rule["id"], "--accept")
    assert ended.returncode == 2
    assert "expected a model that judges criteria in words, found none" in ended.stderr


def test_words_of_reviewers_go_to_a_model_only_after_agreement_that_names_it(
    project: Path, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rule,) = harvested(project, "--from", str(exported))["rules"]
    monkeypatch.setenv("SKILLOPT_MODEL", "anthropic/claude-haiku-4-5")
    ended = skillopt(project, "harvest", "house", rule["id"], "--accept")
    assert ended.returncode == 2
    assert "which anthropic/claude-haiku-4-5 will read" in ended.stderr
    monkeypatch.setattr(harvest_reviews, "can_ask", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert skillopt(project, "harvest", "house", rule["id"], "--accept").returncode == 130
    assert not (project / "suites" / "house.yaml").exists()
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert skillopt(project, "harvest", "house", rule["id"], "--accept").returncode == 0


def test_with_yes_nobody_is_asked(project: Path, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (rule,) = harvested(project, "--from", str(exported))["rules"]
    monkeypatch.setenv("SKILLOPT_MODEL", "anthropic/claude-haiku-4-5")
    assert skillopt(project, "harvest", "house", rule["id"], "--accept", "--yes").returncode == 0


def test_secrets_and_names_are_taken_out_of_remarks_and_files(
    project: Path, reviewed: list[Reviewed], tmp_path: Path
) -> None:
    secret = SECRETS["AWS access key"]
    text = git(project, "show", f"{reviewed[0].before}:{reviewed[0].path}")
    after = text.replace("print(", "logger.info(")
    rows = [one.row(body=f"{one.text}, not {secret} of ann@corp.io, @ada") for one in reviewed]
    rows = [row | {"before": f"{text}\n# {secret} {row['id']}\n", "after": f"{after}\n#\n"} for row in rows]
    harvested(project, "--from", str(export(tmp_path / "comments.json", rows)))
    texts = "".join(path.read_text(encoding="utf-8") for path in written(project))
    assert "instead of print here, not [" in texts
    assert str(secret) not in texts
    assert "ann@corp.io" not in texts
    assert "ada" not in texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"body": "x"}]', "review comment 1: path: Field required"),
        ("no json", "expected review comments, found no JSON in line 1"),
        ('[{"body": "x", "path": "a", "line": "seven"}]', "review comment 1: line: Input should be a valid integer"),
    ],
)
def test_a_file_that_is_no_export_is_refused(project: Path, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "comments.json"
    path.write_text(text, encoding="utf-8")
    ended = skillopt(project, "harvest", "house", "--reviews", "--from", str(path))
    assert ended.returncode == 2
    assert words in ended.stderr


def test_without_a_forge_a_file_is_asked_for_and_without_a_rule_the_command_ends_with_1(
    project: Path, reviewed: list[Reviewed], tmp_path: Path
) -> None:
    assert "an exported file with --from" in skillopt(project, "harvest", "house", "--reviews").stderr
    gone = skillopt(project, "harvest", "house", "--reviews", "--from", "gone.json")
    assert "gone.json: expected review comments, found" in gone.stderr
    assert "expected the name of a skill" in skillopt(project, "harvest", "--reviews").stderr
    path = export(tmp_path / "one.json", [reviewed[0].row()])
    assert harvested(project, "--from", str(path), expect=1)["rules"] == []


def test_what_a_person_drops_is_not_offered_again(project: Path, exported: Path) -> None:
    harvested(project, "--from", str(exported))
    assert skillopt(project, "harvest", "house", "all", "--drop").returncode == 0
    ended = skillopt(project, "harvest", "house", "--reviews", "--from", str(exported))
    assert (ended.returncode, ended.stdout) == (1, "0 rules in 4 remarks of people\n")
