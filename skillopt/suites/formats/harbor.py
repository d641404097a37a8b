"""Read task folders of Harbor and Terminal-Bench that need no container: files in a folder, tests by bash or pytest."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.suites.checks import TaskCheck, verifier_of
from skillopt.suites.foreign_files import (
    LONGEST_SECONDS,
    Folder,
    ForeignEntry,
    read_entry,
    repository_of,
    task_id,
    workspace_file,
)
from skillopt.suites.reading import Collection, Reading
from skillopt.tasks import File, Task

__all__ = ["HarborTask", "read_harbor"]

_TASK: Final = "task.toml"
_APP: Final = "/app"
"""Where an image without a WORKDIR is taken to begin."""

_TESTS: Final = ".harbor/tests"
_LOGS: Final = ".harbor/logs"
_RUN: Final = f"""\
mkdir -p {_LOGS}/verifier
bash {_TESTS}/test.sh
reward={_LOGS}/verifier/reward
if [ -f $reward.json ]; then cp $reward.json reward.json
elif [ -f $reward.txt ]; then printf '{{"reward": %s}}' "$(cat $reward.txt)" > reward.json
else echo 'the tests left no reward' >&2; exit 1; fi
"""
_NEEDS_PYTEST: Final = f"""\
python3 -c 'import pytest' || exit 127
pytest() {{ python3 -m pytest -c /dev/null --rootdir={_TESTS} --confcutdir={_TESTS} "$@"; }}
export -f pytest
"""
_REPORT: Final = re.compile(r"\s--ctrf[ =]\S+")
_HARMLESS: Final = frozenset({"FROM", "CMD", "ENTRYPOINT", "LABEL", "EXPOSE", "SHELL", "ARG"})
_WORKING_FOLDER: Final = re.compile(r"(?:/(?!\.\.?(?:/|$))[\w.-]+)+")
_TEST_TOOLS: Final = re.compile(r"(?:pip3? install [^&|;]*pytest|chmod |mkdir -p )[^&|;]*")
_INSTALLS: Final = re.compile(r"\b(?:apt-get|apk|yum|dnf|curl|wget|uvx|uv|npm|pip3?)\s")
_LATER_PATHS: Final = re.compile(r"(?<![\w.])/(?:app|workspace|root|home|opt|srv|data|etc/\w+|usr/local)\b")


class _Limit(ForeignEntry):
    timeout_sec: Annotated[float, Field(gt=0, le=LONGEST_SECONDS)] = 600.0


class _Named(ForeignEntry):
    name: str | None = None
    keywords: tuple[str, ...] = ()


class HarborTask(ForeignEntry):
    """The settings of a task."""

    task: _Named = _Named()
    agent: _Limit = _Limit()
    verifier: _Limit = _Limit()


def read_harbor(path: Path) -> Reading:
    """Read a folder of task folders, or one task by its file."""
    places = [path.parent] if path.is_file() else sorted(file.parent for file in path.rglob(_TASK))
    if not places:
        raise SuiteError(f"{path}:1: expected folders with {_TASK}, found none; add one")
    found = Collection(path)
    for place in places:
        found.path = place / _TASK
        try:
            found.add(_task(place), 1)
        except SuiteError as error:
            found.skip(place.resolve().name, 1, str(error))
    found.path = path
    folder = (path.parent if path.is_file() else path).resolve()
    return found.reading("harbor", folder.parent.name if folder.name == "evals" else folder.name)


def _task(place: Path) -> Task:
    folder = Folder(repository_of(place), place)
    try:
        entry = read_entry(HarborTask, tomllib.loads(folder.text(_TASK)))
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"expected TOML, found: {error}; correct the file") from error
    root, files = _environment(folder)
    tests = {file.path: file.content for file in folder.files("tests", "") if (place / "tests").is_dir()}
    if "test.sh" not in tests:
        raise SuiteError("expected tests/test.sh, found none; add it")
    script = _REPORT.sub("", _relative(folder.text("tests/test.sh"), root))
    if _INSTALLS.search(script):
        raise SuiteError("tests/test.sh installs programs, which needs a container; have the tests run without it")
    moved = {name: _moved(name, content, root) for name, content in tests.items() if name != "test.sh"}
    placed = [workspace_file(f"{_TESTS}/{name}", each) for name, each in {"test.sh": script.encode(), **moved}.items()]
    prompt = _relative(folder.text("instruction.md"), root)
    _refuse_paths("instruction.md", prompt)
    run = f"{_NEEDS_PYTEST if 'pytest' in script else ''}{_RUN}"
    limits = {"timeout": entry.verifier.timeout_sec, "reward": "reward.json"}
    options = {"argv": ["bash", "-c", run], "collect": ["**"], "runs": "agent", **limits}
    check = TaskCheck("command", options, files=tuple(placed))
    name = task_id((entry.task.name or place.resolve().name).rpartition("/")[2], "task")
    return Task(name, prompt, verifier_of([check]), files, entry.task.keywords, entry.agent.timeout_sec)


def _environment(folder: Folder) -> tuple[str, tuple[File, ...]]:
    inside = folder.base / "environment"
    if any(inside.glob("*compose*")):
        raise SuiteError("environment/ starts several containers; it needs Docker")
    if not (inside / "Dockerfile").is_file():
        raise SuiteError("expected environment/Dockerfile, found none; the task needs an image of its own")
    steps = list(_steps(folder.text("environment/Dockerfile")))
    root, files = _APP, dict[str, File]()
    for line, word, rest in steps:
        if word == "WORKDIR":
            root = rest.strip().rstrip("/")
        known = word == "WORKDIR" and not files and _WORKING_FOLDER.fullmatch(root)
        if word == "COPY":
            files.update((file.path, file) for file in _copied(rest, root, folder, line))
        elif word not in _HARMLESS and not known and not (word == "RUN" and _TEST_TOOLS.fullmatch(rest)):
            raise SuiteError(f"environment/Dockerfile:{line}: {f'{word} {rest}'!r:.80} needs a container")
    return root, tuple(files.values())


def _steps(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the instructions of a Dockerfile with their lines and what follows, those over several lines as one."""
    step, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        first = first if step else number
        step += line.strip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            word, _, rest = step.strip().partition(" ")
            yield first, word.upper(), rest
            step = ""


def _copied(rest: str, root: str, folder: Folder, line: int) -> Iterator[File]:
    *names, to = rest.split()
    place = to if to.startswith("/") else f"{root}/{to.removeprefix('.').removeprefix('/')}"
    if not names or rest.startswith(("[", "--")) or not f"{place}/".startswith(f"{root}/"):
        raise SuiteError(f"environment/Dockerfile:{line}: 'COPY {rest}' leads out of {root}, which needs a container")
    inner = place.removeprefix(root).strip("/")
    for name in names:
        if ".." in Path(name).parts:
            raise SuiteError(f"environment/Dockerfile:{line}: 'COPY {rest}' leads out of environment/; copy it there")
        source = f"environment/{name}"
        into_folder = to.endswith(("/", ".")) or len(names) > 1 or place == root
        is_inside = into_folder and folder.place(source).is_file()
        for file in folder.files(source, f"{inner}/{Path(name).name}".strip("/") if is_inside else inner):
            if Path(file.path).name != "Dockerfile":
                yield file


def _relative(text: str, root: str) -> str:
    for path, plain in ((root, "."), ("/tests", _TESTS), ("/logs", _LOGS)):
        text = re.sub(rf"(?<![\w./]){re.escape(path)}(?=/|\b)(?!-)", plain, text)
    return text


def _moved(name: str, content: bytes, root: str) -> bytes:
    """Write the paths in a test as relative ones; what is no text stays."""
    try:
        text = _relative(content.decode(), root)
    except UnicodeDecodeError:
        return content
    _refuse_paths(f"tests/{name}", text)
    return text.encode()


def _refuse_paths(name: str, text: str) -> None:
    found = _LATER_PATHS.search(text)
    if found is not None:
        raise SuiteError(f"{name} names {found[0]!r}, a path of a container; use paths in its working folder")
