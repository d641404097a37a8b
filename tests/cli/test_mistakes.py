"""Mistakes of a new user, one a row: the answer begins with the right cause, and names the next step."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.fake_chat import answer_prompt, fake_chat
from tests.fakes.projects import git, make_project, skillopt
from tools.fake_providers.fake_openai import failure
from tools.fake_providers.loopback import Answer, Body

Change = Callable[[Path], None]
SKILL, SUITE, EVALS, CONFIG = (
    *("skills/rows/SKILL.md", "suites/rows.jsonl"),
    *("skills/rows/evals/evals.json", "skillopt.toml"),
)
LOCAL = "--harness chat/openai-compatible/small --model openai-compatible/{model} --set base_url={url}"
NOBODY = "http://127.0.0.1:9/v1"
TASK = '{"id": "a", "prompt": "Greet.", "verifier": {"kind": "exact", "value": "Hi"}}\n'
RUBRICS = json.dumps({"evals": [{"id": str(at), "prompt": f"Do {at}.", "expectations": ["good"]} for at in range(8)]})


@dataclass(frozen=True)
class Mistake:
    """A command, what was done to the project before, and what the answer must say."""

    command: str
    code: int
    cause: str
    step: str
    change: Change | None = None


def put(path: str, content: str | bytes) -> Change:
    """Write a file of the project."""

    def change(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode() if isinstance(content, str) else content)

    return change


def replace(path: str, old: str, new: str) -> Change:
    """Replace text of a file of the project."""

    def change(folder: Path) -> None:
        text = (folder / path).read_text(encoding="utf-8")
        assert old in text
        (folder / path).write_text(text.replace(old, new), encoding="utf-8")

    return change


def remove(path: str) -> Change:
    """Remove a file of the project."""
    return lambda folder: (folder / path).unlink()


def evals(content: str) -> Change:
    """Give the tasks by evals.json in place of the suite."""

    def change(folder: Path) -> None:
        (folder / SUITE).unlink()
        replace(CONFIG, f'suite = "{SUITE}"\n', "")(folder)
        put(EVALS, content)(folder)

    return change


def outside_git(folder: Path) -> None:
    shutil.rmtree(folder / ".git")


def without_skills(folder: Path) -> None:
    shutil.rmtree(folder / "skills")
    (folder / CONFIG).unlink()


def train(cause: str, step: str, change: Change, code: int = 2) -> Mistake:
    """Train after a change of the project."""
    return Mistake("optimize rows", code, cause, step, change)


CAPS = "expected a number above 0, found 0"
MISTAKES = (
    # Caps and other values
    Mistake("optimize rows --max-rollouts 0", 2, CAPS, "leave it out for no cap"),
    Mistake("optimize rows --max-usd 0", 2, CAPS, "leave it out for no cap"),
    Mistake("optimize rows --max-usd $5", 2, "'--max-usd': expected a number, found '$5'", "skillopt optimize -h"),
    Mistake("optimize rows --max-rollouts 10", 2, "with max_rollouts 10 cannot detect any gain", "raise it to "),
    Mistake("optimize rows --set workers=999", 2, "workers: expected a number of at most 256", "at most 256"),
    Mistake("evaluate rows --split dev", 2, "'dev' is not one of 'train', 'val', 'test'", "skillopt evaluate -h"),
    Mistake("evaluate rows --repeats 0", 2, "'--repeats': expected a number of at least 1", "skillopt evaluate -h"),
    # Models, keys and servers, which are told before a cap and before what the tasks can show
    Mistake(f"optimize rows {LOCAL} --max-rollouts 30", 2, "serves, found 'smal'", "did you mean 'small'?"),
    Mistake(f"optimize rows {LOCAL}", 2, "serves, found 'smal'", "did you mean 'small'?"),
    Mistake(
        f"optimize rows {LOCAL.format(model='small', url=NOBODY)}",
        *(2, f"expected a model server at {NOBODY}, found none that answers", "start it, or correct base_url"),
    ),
    Mistake(
        "optimize rows --model openai-compatible/x",
        2,
        "expected the server's address",
        'for example to "http://localhost',
    ),
    Mistake("optimize rows --model anthropic/claude-x", 2, "expected a key in ANTHROPIC_API_KEY", "set it"),
    Mistake("estimate rows --model anthropic/claude-x", 0, "", "no-go: for the optimizer model anthropic/claude-x"),
    Mistake("optimize rows --model gpt-5.4", 2, "expected provider/model, found 'gpt-5.4'", "'openai/gpt-5.4'"),
    Mistake("optimize rows --harness claude", 2, "the name of a harness, found 'claude'", "'claude-code'"),
    Mistake("optimize rows --harness chat", 2, "expected chat/PROVIDER/MODEL", "add a model"),
    Mistake("init --harness nope", 2, "expected the name of a harness, found 'nope'", "did you mean"),
    Mistake("write-tasks rows", 2, "expected as model a language model", "set model"),
    # Names
    Mistake("optmize rows", 2, "No such command 'optmize'", "Did you mean 'optimize'?"),
    Mistake("optimize rows --max-rolouts 5", 2, "No such option: --max-rolouts", "--max-rollouts"),
    Mistake("optimize row", 2, "expected the name or folder of a skill, found 'row'", "did you mean 'rows'?"),
    Mistake("suite check rows --suite nope.yaml", 2, "nope.yaml: expected a suite, found nothing", "correct the path"),
    Mistake("docs nope", 2, "expected the name of a page, found 'nope'", "first-skill"),
    Mistake("jobs nope", 2, "expected the id of a job, found 'nope'", "`skillopt jobs`"),
    Mistake("-C nope log", 2, "-C: cannot enter 'nope'", "No such file or directory"),
    # Versions and runs that there are not
    Mistake("show rows", 2, "skill 'rows' has no versions yet", "`skillopt optimize rows`"),
    Mistake("show nope", 2, "expected a version (a commit, branch or tag), found 'nope'", "`skillopt log`"),
    Mistake("diff rows", 2, "skill 'rows' has no versions yet", "`skillopt optimize rows`"),
    Mistake("rollback rows abc", 2, "skill 'rows' has no versions yet", "`skillopt optimize rows`"),
    Mistake("take rows", 2, "skill 'rows' has no draft to take", "`skillopt log rows`"),
    Mistake("evaluate rows --of draft", 2, "skill 'rows' has no draft", "`skillopt log rows`"),
    Mistake("decline rows", 2, "skill 'rows' has nothing to decline", "`skillopt log rows`"),
    Mistake("report", 2, "no runs yet in", "`skillopt optimize`"),
    Mistake("gate", 2, "expected BASE, which the change is to be merged into", "--install PATH"),
    Mistake("gate --install nope", 2, "a file of text, found none at 'nope'", "expected a folder with a SKILL.md"),
    Mistake("report --format docx", 2, "found 'docx'", "markdown, html, json"),
    Mistake("gate nope", 2, "expected a revision (a commit, branch or tag), found 'nope'", "git fetch"),
    # The skill
    Mistake("doctor rows", 0, "", "expected frontmatter with name and description", put(SKILL, "# Rows\n\n- Trim.\n")),
    train("expected UTF-8, found the byte 0xff", "save the file as UTF-8", put(SKILL, b"\xff\xfe")),
    train("found 1 of 30,000,000", "move what it does not need", put(SKILL, "a" * 30_000_000)),
    train("expected a file 'SKILL.md', found none", "create it", remove(SKILL)),
    train("expected a skill folder at", "check the path", replace(CONFIG, "skills/rows", "skills/row")),
    train(
        "[skills.rows] path: expected a path in the project", "move it there", replace(CONFIG, "skills/rows", "../x")
    ),
    Mistake("optimize", 2, "expected a skill, found no skill here", "`skillopt init`", without_skills),
    # The tasks
    train("rows.jsonl: expected a suite, found nothing", "correct the path", remove(SUITE)),
    train("rows.jsonl:1: expected at least one task, found none", "add one", put(SUITE, "")),
    train("1 task cannot be split into training and validation", "write at least 2 tasks", put(SUITE, TASK)),
    train("rows.jsonl:2: task 'a': expected an id that no other task has", "rename one", put(SUITE, TASK * 2)),
    train("unknown key 'promt'", "did you mean 'prompt'?", put(SUITE, TASK.replace("prompt", "promt"))),
    train("evals.json:1: expected JSON", "correct the line", evals("nope")),
    train("expected a `prompt` that is not empty", "add what the agent is asked", evals('{"evals": [{"id": 1}]}')),
    train("found none", "say what a good result is", evals('{"evals": [{"id": 1, "prompt": "Do."}]}')),
    train(
        *("found 'rgex'", "change it"),
        evals('{"evals": [{"id": 1, "prompt": "Do.", "assertions": [{"type": "rgex", "pattern": "a"}]}]}'),
    ),
    Mistake("estimate rows", 0, "", "there is no model to judge them; set judge", evals(RUBRICS)),
    # The configuration and the repository
    train("expected harness in skillopt.toml, found none", "skillopt init", replace(CONFIG, 'harness = "demo"\n', "")),
    train("unknown setting 'harnes'", "did you mean 'harness'?", replace(CONFIG, "harness", "harnes")),
    train("skillopt.toml: expected TOML", "correct the line", replace(CONFIG, '"demo"\nmodel', "demo\nmodel")),
    train("expected a git repository around", "run `git init` there", outside_git),
)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("mistakes") / "project")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve one model on loopback."""

    def answer(body: Body) -> Answer:
        known = body["model"] == "small"
        return answer_prompt(body) if known else failure(404, "model_not_found", f"no model {body['model']}")

    with fake_chat(answer, ["small"]) as server:
        yield f"{server.url}/v1"


@pytest.fixture
def project(begun: Path, tmp_path: Path) -> Path:
    return shutil.copytree(begun, tmp_path / "project", symlinks=True)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.command[:40]}: {mistake.cause[:40]}")
def test_a_mistake_is_told_cause_first_and_with_the_next_step(project: Path, server: str, mistake: Mistake) -> None:
    if mistake.change:
        mistake.change(project)
    ended = skillopt(project, *mistake.command.replace("{url}", server).replace("{model}", "smal").split())
    said = ended.stderr if ended.returncode else ended.stdout
    lines = [line for line in said.splitlines() if line and not line.startswith(("Usage: ", "Try "))]
    assert ended.returncode == mistake.code, said
    assert mistake.cause in lines[0]
    assert mistake.step in said
    assert "Input should" not in said


def test_a_skill_that_a_client_does_not_list_is_trained_with_a_word_about_it(project: Path) -> None:
    put(SKILL, "# Rows\n\n## Values\n\n- Trim spaces.\n")(project)
    git(project, "commit", "-qam", "No frontmatter")
    ended = skillopt(project, "optimize", "rows", "--max-rollouts", "30")
    assert ended.returncode == 0
    assert "readable frontmatter, found none" in ended.stderr
