"""What the documentation shows is executed, and what is generated is current."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from skillopt.runs.forecast import what_it_can_show
from skillopt.settings import Settings
from skillopt.suites import load_suite
from skillopt.targets.drivers import HARNESSES, MODELS
from tests.fakes.drafts import graded, run_events
from tests.fakes.nights import make_nights
from tests.fakes.projects import git, make_project, skillopt
from tools.example_demo import make_demo, picture_text
from tools.generate_docs import PAGES as GENERATED_PAGES
from tools.generate_docs import main as generate_docs
from tools.generate_examples import EXAMPLES

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [
    *(CHECKOUT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *sorted((CHECKOUT / "benchmarks").glob("*/README.md")),
]


def blocks(page: Path, language: str, section: str = "") -> list[str]:
    """Return the code of a page in a language, or that below one heading of the second level."""
    text = page.read_text(encoding="utf-8")
    text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0] if section else text
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "lines"), [("README.md", 6), ("docs/training.md", 20)])
def test_the_suites_to_begin_with_are_short_and_can_be_trained(tmp_path: Path, page: str, lines: int) -> None:
    (block,) = blocks(CHECKOUT / page, "yaml")
    assert len(block.splitlines()) <= lines
    (tmp_path / "my-skill.yaml").write_text(block, encoding="utf-8")
    suite = load_suite(tmp_path / "my-skill.yaml")
    assert what_it_can_show(suite, Settings()).can_show


@pytest.mark.docs
@pytest.mark.parametrize(
    ("page", "sections"),
    [
        ("README.md", [""]),
        ("docs/training.md", ["Commands", "Grades, and the draft", "Is my skill good?"]),
        ("docs/agents-and-sandbox.md", [""]),
    ],
)
def test_every_skillopt_and_git_command_to_begin_with_works_in_order(
    tmp_path: Path, page: str, sections: list[str]
) -> None:
    folder = make_project(tmp_path / "project", name="my-skill")
    (folder / "skillopt.toml").unlink()
    shown = [
        line for name in sections for block in blocks(CHECKOUT / page, "console", name) for line in block.splitlines()
    ]
    commands = [line.removeprefix("$ ").split("#")[0].split() for line in shown]
    inline = re.findall(r"`(git checkout [^`]+)`", (CHECKOUT / page).read_text(encoding="utf-8"))
    quick = ("--set", "confidence=0.7")
    assert commands
    for command in [*commands, *(line.split() for line in inline)]:
        if command[0] == "make":
            continue
        if command[0] == "git":
            git(folder, *command[1:])
            continue
        if "draft" in command or command[1] == "take":
            run_events(folder, graded("Write dates as YYYY-MM-DD."), name="my-skill")
        arguments = [git(folder, "rev-parse", "main") if word == "VERSION" else word for word in offline(command[1:])]
        quickly = (*arguments, *(quick if command[1] == "optimize" else ()))
        ended = skillopt(folder, *quickly)
        assert ended.returncode == 0, f"{command}: {ended.stderr}"


@pytest.mark.docs
def test_the_commands_of_the_page_on_shrinking_work_in_order(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", tasks=12, name="my-skill")
    rules = ["Write dates as YYYY-MM-DD.", "Write e-mail addresses in lower case.", *(f"Care, {n}." for n in range(9))]
    with (folder / "skills/my-skill/SKILL.md").open("a", encoding="utf-8") as file:
        file.writelines(f"- {rule}\n" for rule in rules)
    shrinking = blocks(CHECKOUT / "docs" / "training.md", "console", "Shrink")
    listing = blocks(CHECKOUT / "docs" / "triggers.md", "console", "The listing budget")
    shown = [line for block in (*shrinking, *listing) for line in block.splitlines()]
    assert len(shown) >= 7
    for command in (line.removeprefix("$ ").split("#")[0].split() for line in shown):
        ended = skillopt(folder, *offline(command[1:]))
        assert ended.returncode == 0, f"{command}: {ended.stderr}"


def offline(words: list[str]) -> list[str]:
    """Let the demo do what the command asks agents and providers for; their names have to be known ones."""
    given = dict(pairwise(words))
    named = [given[flag].split("/")[0] for flag in ("--harness", "--to") if flag in given]
    assert set(named) <= HARNESSES.keys()
    assert "--model" not in given or given["--model"].split("/")[0] in MODELS
    chosen = ["--harness", "demo", "--model", "demo"] if words[0] == "init" else []
    return [
        "demo" if at and words[at - 1] in {"--harness", "--model", "--to"} else word for at, word in enumerate(words)
    ] + chosen


def test_the_readme_is_short() -> None:
    assert len((CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_picture_of_the_demo_fetches_nothing() -> None:
    picture = (CHECKOUT / "docs" / "examples" / "demo.svg").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\s\"']+", picture) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\((?!#)|<script|<image|href", picture)


def test_the_readmes_numbers_are_those_that_are_recorded() -> None:
    readme, evidence = ((CHECKOUT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/evidence.md"))
    rows = map(json.loads, (CHECKOUT / "benchmarks" / "llm" / "rows.jsonl").read_text(encoding="utf-8").splitlines())
    measured = {(row["model"], row["house"], row["seed"], row["contestant"]): str(row["passed"]) for row in rows}
    texts = ("no skill", "start", "written by hand", "one shot", "trained")
    suites = ("log-lines", "metrics", "tickets", "changelog")
    told = re.findall(r"^\| .+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| \*\*(\d+)\*\*", readme, re.MULTILINE)
    assert told == [tuple(measured["qwen-1.5b", suite, 0, text] for text in texts) for suite in suites]
    (row,) = re.findall(r"^\| realistic mix, 40 tasks, 240 rollouts.*", evidence, re.MULTILINE)
    assert re.findall(r"\+0\.\d{3}", readme) == re.findall(r"\+0\.\d{3}", row)[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_of_make_and_modules_that_a_page_runs_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^\$ )make ([a-z][a-z-]*)", text, re.MULTILINE)) <= targets
    for module in re.findall(r"python -m ((?:benchmarks|tools)[\w.]*)", text):
        path = CHECKOUT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


@pytest.mark.docs
def test_every_block_of_the_page_on_python_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(make_project(tmp_path / "project", name="my-skill"))
    names: dict[str, Any] = {}
    for block in blocks(CHECKOUT / "docs" / "python-api.md", "python"):
        exec(compile(block, "python-api.md", "exec"), names)  # noqa: S102 - what the page shows
    assert "of 8 tasks passed, mean score" in capsys.readouterr().out
    assert names["taught"].skill.text.endswith("- Always greet people.\n")
    assert names["taught"].test.after.passed == 1.0
    assert Path("training/.skillopt/ledger.db").exists()


@pytest.mark.docs
def test_the_commands_of_the_page_on_nights_work_in_order(tmp_path: Path) -> None:
    nights = make_nights(tmp_path, skills=("my-skill",))
    shown = [
        line for block in blocks(CHECKOUT / "docs" / "in-ci.md", "console", "Nights") for line in block.splitlines()
    ]
    told = ""
    for line in shown:
        program, *words = line.removeprefix("$ ").split()
        if program != "skillopt":
            continue
        ended = skillopt(nights.folder, *words)
        assert ended.returncode == 0, f"{line}: {ended.stderr}"
        told += ended.stdout
    assert "my-skill" in told
    (cron,) = re.findall(r"skillopt nightly [^`\n]*--quiet[^`\n]*", "\n".join(shown))
    assert skillopt(nights.folder, *cron.split()[1:]).stdout.startswith("nothing improved")


@pytest.mark.docs
def test_every_command_of_the_page_on_reviewing_works_in_order(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project", name="my-skill")
    git(folder, "checkout", "--quiet", "-b", "change")
    with (folder / "skills" / "my-skill" / "SKILL.md").open("a", encoding="utf-8") as skill:
        skill.write("- Write e-mail addresses in lower case.\n")
    gating, installing = blocks(CHECKOUT / "docs" / "in-ci.md", "console", "The change gate")
    looking_back, saying_no = blocks(CHECKOUT / "docs" / "training.md", "console", "Reading and refusing")
    run_shown(folder, gating)
    assert "Skill gate: 1 skill differs: 1 passed" in (folder / "summary.md").read_text(encoding="utf-8")
    git(folder, "checkout", "--quiet", "-B", "change", "main")
    quick = ("--set", "confidence=0.7")
    assert skillopt(folder, "optimize", "my-skill", *quick).returncode == 0
    newest = git(folder, "rev-parse", "skillopt/my-skill")
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    run_shown(folder, installing)
    run_shown(folder, looking_back.replace("VERSION", newest).replace("TASK", "val0"))
    run_shown(copy, saying_no)


def run_shown(folder: Path, block: str) -> None:
    """Run the commands of a block one after the other."""
    for line in block.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[0] == "git":
            git(folder, *words[1:])
            continue
        may_fail = words[-2:] == ["||", "true"]
        ended = skillopt(folder, *words[1 : -2 if may_fail else None])
        assert ended.returncode == 0 or may_fail, f"{line}: {ended.stderr}"


@pytest.mark.docs
def test_the_first_change_of_the_contributing_guide_works_and_passes_the_lint(tmp_path: Path) -> None:
    guide, copy = CHECKOUT / "CONTRIBUTING.md", tmp_path / "copy"
    for part in ("skillopt", "tests/contracts"):
        shutil.copytree(CHECKOUT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", copy)
    written = {block.split("\n", 1)[0].removeprefix("# "): block.split("\n", 1)[1] for block in blocks(guide, "python")}
    assert list(written) == ["skillopt/verifiers/contains.py", "tests/unit/verifiers/test_contains.py"]
    for path, text in written.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text, encoding="utf-8")
    (change,) = blocks(guide, "diff")
    before, added, after = (line[1:] for line in change.splitlines())
    table = copy / "skillopt" / "verifiers" / "__init__.py"
    shipped = table.read_text(encoding="utf-8")
    assert f"{before}\n{after}\n" in shipped
    # The copy is not what coverage is about.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    environment = {**kept, "PYTHONPATH": str(copy)}
    table.write_text(shipped.replace(before, f"{before}\n{added}"), encoding="utf-8")
    for tool in (
        ("pytest", "-qx", "--tb=short", "-p", "no:cacheprovider", "tests/unit/verifiers/test_contains.py"),
        ("ruff", "check", "--no-cache", *written, "skillopt/verifiers"),
        ("ruff", "format", "--no-cache", "--check", *written),
    ):
        ended = subprocess.run(
            [sys.executable, "-m", *tool], cwd=copy, env=environment, check=False, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.docs
def test_the_demo_ends_as_its_picture_shows_with_a_better_skill_and_commands_that_work(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    ((name, picture),) = make_demo(folder).items()
    assert (EXAMPLES / name).read_text(encoding="utf-8") == picture, f"{name} is out of date: run `make docs`"
    lines = picture_text(picture).splitlines()
    assert len(lines) <= 84, "rows, over which long lines are wrapped"
    assert any("simulated" in line for line in lines[:3])
    (gained,) = [line for line in lines if line.startswith("gained: ")]
    before, after, of = (int(number) for number in re.findall(r"(\d+) → (\d+) of (\d+)", gained)[0])
    assert after > before
    assert f"from {before} to {after} of {of} held-out tasks" in (CHECKOUT / "README.md").read_text(encoding="utf-8")
    log, *look_further = lines[lines.index("Look further:") + 1 :]
    assert "\n    Val-After: " in git(folder, *log.split()[3:])
    (run,) = (run["run"] for run in json.loads(skillopt(folder, "status", "--json").stdout)["runs"])
    for line in look_further:
        words = [run if word == "ID" else word for word in line.split()[3:]]
        assert skillopt(folder, *words).returncode == 0, line


@pytest.mark.docs
def test_the_demo_never_removes_what_it_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    command = [sys.executable, "-m", "benchmarks.demo", "--folder", str(tmp_path)]
    ended = subprocess.run(command, cwd=CHECKOUT, check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "choose another --folder" in ended.stderr
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    "page",
    [pytest.param(name, marks=pytest.mark.slow) if name == "statistics.md" else name for name in GENERATED_PAGES],
)
def test_a_generated_page_is_current(page: str) -> None:
    assert generate_docs(["--check", page]) == 0


def headings(page: Path) -> set[str]:
    """Return the names by which links reach the headings of a page, as GitHub makes them."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / link).exists(), link
    for link, heading in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", text):
        assert heading in headings(page.parent / link if link else page), f"{link}#{heading}"
    for path in re.findall(r"`((?:skillopt|docs|tests|benchmarks|skills|tools)/[\w./-]+)`", text):
        assert (CHECKOUT / path).exists() or "<" in path, path
