"""Tasks of Harbor: what is read of their images, where they run, and that their own solution is the measure."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.agent_table import AgentTable
from skillopt.contrib.harbor import containers, dockerfile
from skillopt.contrib.harbor.image_root import ImageRoot, prepared
from skillopt.contrib.harbor.oracle import OracleResult, SolutionOracles, run_oracle
from skillopt.errors import InfrastructureError
from skillopt.execution.runner import run_rollout
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.roots import ENGINE
from skillopt.sandbox.workspace import Workspace
from skillopt.skills.document import Skill, SkillDocument
from skillopt.suites import load_suite, read_tasks
from skillopt.suites.writing import write_suite
from skillopt.targets.command_line.client import CommandLineHarness
from skillopt.targets.process import AgentCommand, AgentHome
from skillopt.tasks import Environment, File, Task
from skillopt.verifiers import load_verifier
from tests.contracts.format_contract import fixture_of
from tests.fakes.projects import make_project, skillopt

needs_bwrap = pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")


DOCKERFILE = """\
FROM ubuntu:24.04
ENV DEBIAN_FRONTEND=noninteractive GREETING="good day"
RUN apt-get update && apt-get install -y --no-install-recommends python3 bash && rm -rf /var/lib/apt/lists/*
# The data
RUN mkdir -p /data/out \\
    && chmod 700 /data/out
WORKDIR /app
COPY orders.csv skill[s] /data/
"""
TEST = """\
#!/bin/bash
apt-get update; apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
set -e
source $HOME/.local/bin/env
cd /app && [ "$GREETING" = "good day" ] && [ -d /data/out ]
if [ "$(cat /app/ids.txt)" = "$(tail -n 1 /data/orders.csv)" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
FILES = {
    "task.toml": '[task]\nname = "ids"\n[verifier]\ntimeout_sec = 20\n[agent]\ntimeout_sec = 20\n',
    "instruction.md": "Write the last line of /data/orders.csv to /app/ids.txt.\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/orders.csv": "id\n3\n",
    "environment/deep/a.txt": "a",
    "tests/test.sh": TEST,
    "solution/solve.sh": "set -e\ncd /app\ntail -n 1 /data/orders.csv > ids.txt\n",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(dockerfile, "_installed", frozenset)


def written(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    for name, text in {**FILES, **(files or {})}.items():
        place = folder / "tasks" / "ids" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder / "tasks"


def one_task(folder: Path, files: Mapping[str, str] | None = None) -> Task:
    ((_, task),) = read_tasks(written(folder, files), commands=True).tasks
    return task


def reason(folder: Path, files: Mapping[str, str]) -> str:
    reading = read_tasks(written(folder, files), commands=True)
    assert not reading.tasks
    return reading.skipped[0].reason


def scored(task: Task, files: tuple[File, ...]) -> Score:
    with Workspace.create((*task.files, *files)) as root, prepared(root.path, task.environment, (), Sandbox("auto")):
        return load_verifier(task.verifier_with_inputs).score(Trajectory(), root.path)


def test_a_task_is_read_with_its_files_at_their_places_and_its_texts_as_they_are(tmp_path: Path) -> None:
    task = one_task(tmp_path)

    assert (task.prompt, task.timeout) == (FILES["instruction.md"], 20.0)
    assert [file.path for file in task.files] == ["data/orders.csv"]
    assert task.environment is not None
    assert (task.environment.workdir, task.environment.python) == ("/app", "3.12")
    assert dict(task.environment.variables) == {"DEBIAN_FRONTEND": "noninteractive", "GREETING": "good day"}
    assert task.environment.setup == ("cd /; mkdir -p /data/out", "cd /; chmod 700 /data/out")
    assert {file.path for file in task.verifier.files} == {"tests/test.sh", "solution/solve.sh"}
    assert task.verifier.can_be_gamed


def test_a_task_that_is_copied_into_a_suite_is_the_same_task(tmp_path: Path) -> None:
    reading = read_tasks(written(tmp_path), commands=True)
    for file in write_suite("ids", [*reading.tasks]):
        place = tmp_path / "copy" / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)

    ((_, copied),) = load_suite(tmp_path / "copy").splits

    assert copied == replace(reading.tasks[0][1], verifier=copied.verifier)
    assert copied.digest == reading.tasks[0][1].digest
    assert copied.environment is not None
    assert replace(copied, environment=replace(copied.environment, setup=())).digest != copied.digest


def test_a_task_whose_check_runs_a_script_of_its_suite_waits_until_a_person_imports_it() -> None:
    reading = read_tasks(fixture_of("harbor"))
    (found,) = (each for each in reading.skipped if "runs a script" in each.reason)
    assert reading.tasks == ()
    assert (found.name, found.line) == ("report", 1)
    assert "test.sh" in found.reason
    assert f"`skillopt import {found.path}`" in found.reason
    assert [task.id for _, task in read_tasks(found.path, commands=True).tasks] == ["report"]


def test_commands_of_a_suite_are_imported_by_a_persons_word_and_counted(tmp_path: Path) -> None:
    shutil.copytree(fixture_of("harbor"), tmp_path / "orders")
    shown = skillopt(tmp_path, "import", "orders").stdout.splitlines()
    assert "1 task brings commands" in shown[1]
    assert [task.id for _, task in load_suite(tmp_path / "suites" / "orders").splits] == ["report"]


@pytest.mark.parametrize(
    ("line", "packages"),
    [
        (
            "RUN pip3 install --no-cache-dir --break-system-packages 'pandas==2.2.3' openpyxl",
            ["pandas==2.2.3", "openpyxl"],
        ),
        ("RUN python3 -m pip install --upgrade pip && pip install -r needs.txt", ["numpy<2", "scipy"]),
        ("RUN apt-get install -y python3-yaml python3-pip", ["pyyaml"]),
        ("RUN curl -LsSf https://astral.sh/uv/0.9/install.sh | sh", []),
        ("RUN ln -s /usr/bin/python3 /usr/bin/python", []),
        ("COPY deep /root/.claude/skills", []),
    ],
)
def test_packages_of_an_image_are_those_of_an_environment(tmp_path: Path, line: str, packages: list[str]) -> None:
    files = {
        "environment/Dockerfile": f"FROM python:3.11-slim\n{line}\n",
        "environment/needs.txt": "numpy<2\n# a\nscipy\n",
    }

    environment = one_task(tmp_path, files).environment

    assert environment is not None
    assert (list(environment.packages), environment.setup, environment.python) == (packages, (), "3.11")


def test_what_tests_install_by_uv_is_kept_apart_from_what_the_image_has(tmp_path: Path) -> None:
    uvx = "uvx \\\n  --with pytest==8.4.1 \\\n  --with numpy==2.3.2 \\\n  pytest /tests/test_outputs.py\n"
    solve = 'pip3 install "rich==14.0.0" -q 2>&1\npython3 - <<EOF\nprint("it\'s")\nEOF\n'

    environment = one_task(tmp_path, {"tests/test.sh": uvx, "solution/solve.sh": solve}).environment

    assert environment is not None
    assert (environment.tools, environment.packages) == (("pytest==8.4.1", "numpy==2.3.2"), ("rich==14.0.0",))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("FROM postgres:17\n", "container: environment/Dockerfile:1: 'FROM postgres:17'"),
        ("FROM debian:12\n\nRUN wget -q https://a.example/x\n", "Dockerfile:3: 'RUN wget"),
        ("FROM debian:12\nRUN pip install git+https://a.example/x\n", "Dockerfile:2: 'RUN pip"),
        ("FROM debian:12\nRUN pip install torch --index-url https://a.example\n", ":2: 'RUN pip"),
        ("FROM debian:12 AS a\nFROM debian:12\nCOPY --from=a /x /y\n", ":3: 'COPY --from"),
        ("FROM debian:12\nCOPY orders.csv /etc/orders\n", "it writes to /etc"),
        ("FROM debian:12\nCOPY ../tests/test.sh ./\n", "leads out of environment/"),
        ("FROM debian:12\nCOPY lost.csv ./\n", ":2: 'COPY lost.csv ./': expected"),
        ("FROM debian:12\nCOPY deep /app/.git/\n", ":2: 'COPY deep /app/.git/': expected"),
        ("FROM debian:12\nFETCH x\n", ":2: 'FETCH x': it"),
    ],
)
def test_what_the_sandbox_cannot_stand_in_for_is_named_with_its_line(tmp_path: Path, lines: str, expected: str) -> None:
    assert expected in reason(tmp_path, {"environment/Dockerfile": lines})


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("environment/compose.yaml", "services:\n  a:\n    image: x\n  b:\n    image: y\n", "compose.yaml:1: it"),
        ("task.toml", "[", "expected TOML"),
        ("task.toml", '[[steps]]\nname = "a"\n', "steps"),
        ("task.toml", '[environment]\nskills_dir = "a"\nenv = {}\nmcp_servers = [{name = "a"}]\n', "mcp_servers"),
    ],
)
def test_what_a_task_asks_for_that_is_not_here_is_named(tmp_path: Path, file: str, text: str, expected: str) -> None:
    assert expected in reason(tmp_path, {file: text})


def test_missing_packages_of_the_system_are_named_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dockerfile, "_installed", lambda: frozenset({"git"}))
    files = {"environment/Dockerfile": "FROM debian:12\nRUN apt-get install -y git no-such-office\n"}
    solved = one_task(tmp_path, files)
    (tmp_path / "tasks/ids/solution/solve.sh").unlink()

    (skipped,) = read_tasks(tmp_path / "tasks", commands=True).skipped

    assert solved.environment is not None
    assert solved.environment.missing == ("no-such-office",)
    assert "environment/Dockerfile:2: 'apt-get install': found" in skipped.reason


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
def test_the_solution_passes_and_doing_nothing_fails_in_the_sandbox_with_paths_as_they_are(tmp_path: Path) -> None:
    task = one_task(tmp_path)

    assert run_oracle(task) == OracleResult("ids", solution_passes=True, nothing_fails=True)
    assert scored(task, (File("app/ids.txt", b"3\n"),)).passed
    assert not Path("/app/ids.txt").exists()


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
def test_a_solution_that_fails_and_tests_that_anything_passes_do_not_count(tmp_path: Path) -> None:
    told = list[str]()
    bad = replace(one_task(tmp_path / "a", {"solution/solve.sh": "echo 4 > /app/ids.txt; exit 3\n"}), id="bad")
    lax = replace(one_task(tmp_path / "b", {"tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n"}), id="lax")

    results = SolutionOracles().check([bad, lax], tmp_path, told.append)

    assert [result.counts for result in results] == [False, False]
    assert "solution does not pass" in results[0].words
    assert "solve.sh: status 3" in results[0].words
    assert results[1].words == "doing nothing passes"
    assert SolutionOracles().check([bad, lax], tmp_path, told.append) == results
    assert len(told) == 2


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
def test_neither_tests_nor_a_reward_that_the_agent_left_count(tmp_path: Path) -> None:
    planted = (File("tests/test.sh", b"echo 1 > /logs/verifier/reward.txt\n"), File("logs/verifier/reward.txt", b"1"))

    assert scored(one_task(tmp_path), planted).value == 0.0


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
@pytest.mark.parametrize(
    ("test", "feedback"),
    [
        ("sleep 60\n", "did not end within 1 s"),
        ("exit 0\n", "left no reward"),
        ("echo '#' >> /tests/test.sh; echo 1 > /logs/verifier/reward.txt\n", "'test.sh' changed"),
        ("mkdir -p /logs/verifier; echo '{\"reward\": 0.5}' > /logs/verifier/reward.json\n", "status 1"),
    ],
)
def test_tests_that_hang_leave_no_reward_or_change_are_no_pass(tmp_path: Path, test: str, feedback: str) -> None:
    toml = FILES["task.toml"].replace("timeout_sec = 20", "timeout_sec = 1", 1)
    score = scored(one_task(tmp_path, {"tests/test.sh": test, "task.toml": toml}), ())

    assert not score.passed
    assert feedback in score.feedback
    assert score.value == (0.5 if "0.5" in test else 0.0)


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
def test_programs_write_nothing_outside_and_reach_nothing(tmp_path: Path) -> None:
    task = one_task(tmp_path)
    assert task.environment is not None
    script = "touch /usr/x 2>/dev/null && echo bad; ls /work 2>/dev/null; exec 3<>/dev/tcp/127.0.0.1/9 && echo bad; pwd"
    with Workspace.create(task.files) as root, prepared(root.path, task.environment, (), Sandbox("auto")):
        ended = ImageRoot(root.path, task.environment).run(["bash", "-c", script], 20, Sandbox("auto"))

    assert ended.stdout == "/app\n"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fake engine in place, which notes its arguments in this folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(ENGINE, str(Path(__file__).parents[2] / "fakes" / "fake_engine.sh"))
    containers.trouble_of.cache_clear()
    return tmp_path


def agent(folder: Path, lines: str) -> CommandLineHarness:
    """Make a harness of a script that stands in for an agent."""
    place = folder / "agent.sh"
    place.write_text(f"#!/bin/sh\ncat > /dev/null\n{lines}\n", encoding="utf-8")
    place.chmod(0o755)
    table = AgentTable.model_validate({"command": ["{project}/agent.sh"], "skills": ".skills"})
    return CommandLineHarness("my-agent", table, folder, mode="discovery", sandbox="auto")


SKILL = Skill("ids", SkillDocument("---\nname: ids\ndescription: Ids.\n---\n# Ids\n"))


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
def test_an_agent_starts_in_the_folder_of_the_image_and_finds_its_skill_and_all_paths(tmp_path: Path) -> None:
    lines = "pwd; ls .skills; echo $GREETING; tail -n 1 /data/orders.csv > ids.txt; touch /usr/x || true"

    rollout = run_rollout(agent(tmp_path, lines), RolloutRequest(SKILL, one_task(tmp_path)))

    assert rollout.trajectory.answer.split("\n") == ["/app", "ids", "good day"]
    assert rollout.trajectory.files_changed == ("app/ids.txt",)
    assert rollout.score is not None
    assert rollout.score.passed


POSTGRES = {"environment/Dockerfile": "FROM postgres:17\nWORKDIR /srv\n"}


def test_the_executor_decides_where_tasks_run_and_names_those_that_cannot(engine: Path) -> None:
    alike, other = written(engine / "a"), written(engine / "b", POSTGRES)
    for at, reading in enumerate([read_tasks(alike, commands=True), read_tasks(other, commands=True)]):
        for file in write_suite("ids", [*reading.tasks]):
            place = engine / f"copy-{at}" / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content)

    ((_, contained),) = read_tasks(alike, commands=True, executor="container").tasks
    ((_, boxed),) = read_tasks(engine / "copy-0", executor="sandbox").tasks
    refused = [
        read_tasks(other, commands=True, executor="sandbox").skipped[0].reason,
        read_tasks(engine / "copy-1", executor="sandbox").skipped[0].reason,
        read_tasks(engine / "copy-0", executor="container").skipped[0].reason,
    ]

    assert contained.environment is not None
    assert (contained.environment.container, contained.files) == ("executor = 'container'", ())
    assert "environment/Dockerfile" in {file.path for file in contained.verifier.files}
    assert boxed.environment is not None
    assert not boxed.environment.container
    assert refused[0].startswith("needs a container: environment/Dockerfile:1")
    assert refused[0].endswith(", where `executor` allows it")
    assert "it was imported for environment" in refused[1]
    assert refused[1].endswith("expected executor 'auto', found 'sandbox'; change it, or import it again")
    assert "expected executor 'auto', found 'container'" in refused[2]


def test_with_an_engine_a_task_runs_in_a_container_without_network_that_ends_with_it(engine: Path) -> None:
    task = one_task(engine, POSTGRES)

    result = run_oracle(task)

    log = (engine / "engine.log").read_text(encoding="utf-8")
    (begun, _) = [line for line in log.splitlines() if line.startswith("run ")]
    assert result.counts
    assert task.environment is not None
    assert task.environment.container.startswith("environment/Dockerfile:1: 'FROM postgres:17'")
    assert log.count("build --tag skillopt-") == 1
    assert "--network none" in begun
    assert "--pids-limit" in begun
    assert "--memory" in begun
    assert f"rm --force {begun.split('--name ')[1].split()[0]}" in log
    assert list((engine / "containers").iterdir()) == []


def test_an_agent_of_the_image_runs_in_the_container_and_the_image_is_recorded(engine: Path) -> None:
    rollout = run_rollout(agent(engine, ""), RolloutRequest(SKILL, one_task(engine, POSTGRES)))

    log = (engine / "engine.log").read_text(encoding="utf-8").splitlines()
    (ran,) = [line for line in log if line.endswith(" agent.sh")]
    assert ran.startswith("exec --interactive --workdir /srv")
    assert rollout.trajectory.messages[-1].text == "image sha256:feed"
    assert rollout.trajectory.files_changed == ("srv/ids.txt",)
    assert rollout.score is not None
    assert rollout.score.passed
    assert [line.split()[0] for line in log[log.index(ran) :]][1] == "restart"
    assert log[-1].startswith("rm --force ")


def test_an_agent_that_needs_its_provider_is_refused_in_a_container_without_network(engine: Path) -> None:
    place = ImageRoot(str(engine), Environment(container="FROM postgres:17"))
    command = AgentCommand(("claude",), {}, "Do it.", url="https://api.example", client="claude", root=place)
    with AgentHome.create() as home, pytest.raises(InfrastructureError, match=r"https://api\.example, found none"):
        command.run(home, str(engine), 5.0)


@pytest.mark.process  # the quick tests run without bubblewrap
@needs_bwrap
def test_the_oracle_of_tasks_with_a_solution_is_run_once_and_those_that_do_not_count_are_named(tmp_path: Path) -> None:
    project = make_project(tmp_path, tasks=8)
    for name, number in (("good", 3), ("bad", 4)):
        files = {
            "task.toml": "",
            "instruction.md": f"Write {name} to /app/ids.txt.",
            "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n",
            "tests/test.sh": "grep -q 3 /app/ids.txt; echo $(( 1 - $? )) > /logs/verifier/reward.txt\n",
            "solution/solve.sh": f"echo {number} > /app/ids.txt\n",
        }
        for path, text in files.items():
            place = project / "harbor" / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    skillopt(project, "import", "harbor", "--to", "ids")
    before = skillopt(project, "evaluate", "rows", "--suite", "ids", "--harness", "chat/handoff")
    ended = skillopt(project, "suite", "check", "rows", "--suite", "ids")
    again = skillopt(project, "suite", "check", "rows", "--suite", "ids")

    assert "programs that check: 2 run" in ended.stdout
    assert "run-agent" not in ended.stdout
    assert "oracle: in 1 of 2 tasks" in ended.stdout
    assert "check ended with status 1" in ended.stdout
    assert "solution, then nothing" in ended.stderr
    assert (again.stdout, again.stderr) == (ended.stdout, "")
    after = skillopt(project, "evaluate", "rows", "--suite", "ids", "--harness", "chat/handoff")
    assert "`skillopt suite check` first" in before.stderr
    assert "1 task loaded, 1 skipped" in after.stderr
    assert "bad: its solution does" in skillopt(project, "suite", "show", "rows", "--suite", "ids").stdout
