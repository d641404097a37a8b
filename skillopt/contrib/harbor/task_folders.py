"""Read task folders of Harbor and Terminal-Bench: the sandbox stands in for the image, or an engine runs it."""

import re
import shlex
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from skillopt.contrib.harbor.containers import engine_trouble, find_engine
from skillopt.contrib.harbor.dockerfile import Image, python_packages, read_dockerfile, test_tools
from skillopt.errors import SuiteError
from skillopt.sandbox.roots import ExecutorChoice
from skillopt.suites.checks import TaskCheck, verifier_of
from skillopt.suites.foreign_files import LONGEST_SECONDS, Folder, ForeignEntry, read_entry, repository_of, task_id
from skillopt.suites.reading import Collection, Reading
from skillopt.tasks import Environment, File, Task

_TASK: Final = "task.toml"
_SOLUTION: Final = "solution/solve.sh"
_REWARD: Final = "logs/verifier/reward.txt"
_PIP_INSTALL: Final = re.compile(r"^(?:.*[;&|] *)?(?:python[\d.]* -m )?pip[\d.]* install ([^\n;&|>#]+)", re.MULTILINE)
_SERVICES: Final = re.compile(r"^  ([\w-]+):(?=\s*\n    (?:build|image|command|environment)\b)", re.MULTILINE)
_NEEDS: Final = "needs a container"


class _Limit(ForeignEntry):
    harmless = frozenset({"user"})
    timeout_sec: Annotated[float, Field(gt=0, le=LONGEST_SECONDS)] = 600.0


class _Named(ForeignEntry):
    name: str | None = None
    keywords: tuple[str, ...] = ()


class _Environment(ForeignEntry):
    harmless = frozenset(
        (
            *("build_timeout_sec", "cpus", "memory", "memory_mb", "storage", "storage_mb"),
            *("docker_image", "network_mode", "skills_dir"),
        )
    )
    os: Literal["linux"] = "linux"
    allow_internet: bool = False


class HarborTask(ForeignEntry):
    """The settings of a task."""

    harmless = frozenset({"version", "schema_version", "metadata", "source", "solution", "artifacts"})
    task: _Named = _Named()
    agent: _Limit = _Limit()
    verifier: _Limit = _Limit()
    environment: _Environment = _Environment()


def read_harbor(path: Path, executor: ExecutorChoice = "auto") -> Reading:
    """Read a folder of task folders, or one task by its file; in containers all, or those that need one."""
    places = [path.parent] if path.is_file() else sorted(file.parent for file in path.rglob(_TASK))
    if not places:
        raise SuiteError(f"{path}:1: expected folders with {_TASK}, found none; add one")
    found = Collection(path)
    for place in places:
        found.path = place / _TASK
        try:
            found.add(_task(place, executor), 1)
        except SuiteError as error:
            found.skip(place.resolve().name, 1, str(error))
    found.path = path
    folder = (path.parent if path.is_file() else path).resolve()
    return found.reading("harbor", folder.parent.name if folder.name == "evals" else folder.name)


def _task(place: Path, executor: ExecutorChoice) -> Task:
    folder = Folder(repository_of(place), place)
    try:
        entry = read_entry(HarborTask, tomllib.loads(folder.text(_TASK)))
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"expected TOML, found: {error}; correct the file") from error
    for compose in sorted((place / "environment").glob("*compose*.y*ml")):
        services = _SERVICES.findall(folder.text(f"environment/{compose.name}"))
        if len(services) > 1:
            raise SuiteError(f"{_NEEDS}: environment/{compose.name}:1: it starts several ({', '.join(services)})")
    if not folder.exists("environment/Dockerfile"):
        raise SuiteError("expected environment/Dockerfile, found none; add it, or name the image in one")
    tests = _reference(folder, "tests")
    if not any(file.path == "tests/test.sh" for file in tests):
        raise SuiteError("expected tests/test.sh, found none; add it")
    solution = _reference(folder, "solution") if folder.exists(_SOLUTION) else []
    image = read_dockerfile(folder)
    if executor == "container":
        image.needs.insert(0, "executor = 'container'")
    engine = find_engine() if executor != "sandbox" and (image.needs or image.missing) else ""
    environment = _environment(folder, image, entry, engine=engine, solved=bool(solution))
    placed = [*tests, *solution]
    if environment.container:
        placed += _reference(folder, "environment")
    else:
        texts = "\n".join(file.text for file in placed) + "\n".join(image.variables.values())
        placed += [File(f"image/{path}", file.content) for path, file in image.hidden.items() if _named(path, texts)]
    limits = {"timeout": entry.verifier.timeout_sec, "reward": _REWARD}
    options = {"argv": ["bash", "/tests/test.sh"], "collect": ["**"], "runs": "agent", **limits}
    check = TaskCheck("command", options, files=tuple(placed))
    name = task_id((entry.task.name or place.resolve().name).rpartition("/")[2], "task")
    files = () if environment.container else tuple(image.files.values())
    limit = entry.agent.timeout_sec
    prompt = folder.text("instruction.md")
    return Task(
        name, prompt, verifier_of([check]), files, tags=entry.task.keywords, timeout=limit, environment=environment
    )


def _environment(folder: Folder, image: Image, entry: HarborTask, *, engine: str, solved: bool) -> Environment:
    """Say where the task is done; raise where that is a container, and there is no engine for it."""
    why = list(image.needs)
    if image.missing:
        found = f"found {', '.join(dict.fromkeys(image.found))}; " if image.found else ""
        missing = ", ".join(dict.fromkeys(image.missing))
        listed = f"environment/Dockerfile:{image.missed_at}: 'apt-get install': {found}missing {missing}"
        # Without an engine, whether they matter is shown by the solution, where there is one.
        why += [listed] if engine or not solved else []
    if why:
        if not engine:
            raise SuiteError(f"{_NEEDS}: {'; '.join(why)}; {engine_trouble()}, where `executor` allows it")
        return Environment(image.workdir, container=why[0], network=entry.environment.allow_internet)
    scripts = "\n".join(folder.text(name) for name in ("tests/test.sh", _SOLUTION) if folder.exists(name))
    for words in _PIP_INSTALL.findall(scripts.replace("\\\n", " ")):
        with suppress(ValueError):  # a quote that is closed elsewhere
            image.packages += python_packages(shlex.split(words), folder) or []
    tools = test_tools(scripts)
    packages, lacking = (tuple(dict.fromkeys(names)) for names in (image.packages, image.missing))
    variables, setup = tuple(image.variables.items()), tuple(image.setup)
    return Environment(image.workdir, variables, packages, tools, python=image.python, setup=setup, missing=lacking)


def _reference(folder: Folder, name: str) -> list[File]:
    return list(folder.files(name, name)) if (folder.base / name).is_dir() else []


def _named(path: str, texts: str) -> bool:
    """Return whether a script names the folder that agents find skills in, so that it needs the files."""
    found = re.search(r"(\.[\w-]+)/skills?(?=/)", path)
    return found is None or found[0] in texts or (found[1] == ".claude" and "skill" in texts)
