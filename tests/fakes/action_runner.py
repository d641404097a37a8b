"""A small double of GitHub's runner: a workflow's jobs and the steps of our action, with the expressions that they use.

Of other actions, `checkout` clones, artifacts are kept from job to job, and what else is used is noted with its `with`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.fakes.projects import git

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github" / "actions" / "skillopt" / "action.yml"
_PYTHON = """#!/bin/bash
# The Python that the job set up. It makes no environment and installs nothing, and notes what it was asked.
printf '%s\\n' "$@" END >> "$RUNNER_TEMP/asked"
if [ "$2 $3" = '-m venv' ]; then mkdir -p "$4/bin" && ln -sf "$0" "$4/bin/python"; exit; fi
if [ "$2 $3" = '-m pip' ]; then exit; fi
env > "$RUNNER_TEMP/environment"
exec @PYTHON@ "$@"
"""
_GH = f'#!/bin/bash\nexec {shlex.join([sys.executable, "-P", str(Path(__file__).with_name("github_cli.py"))])} "$@"\n'

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z_][\w.-]*)|(&&|\|\||!(?!=))")


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - as YAML gives it
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


@dataclass
class Done:
    """What a job came to: whether it failed, its outputs, its summary, its log, and the steps that were done."""

    code: int
    outputs: dict[str, str]
    summary: str
    log: str
    steps: list[str]
    used: dict[str, dict[str, str]]

    @property
    def commands(self) -> list[str]:
        """List the lines of the log that are commands to the runner."""
        found, stopped = [], ""
        for line in self.log.splitlines():
            if line == f"::{stopped}::":
                stopped = ""
            elif not stopped and line.lstrip().startswith("::"):
                stopped = line.partition("::stop-commands::")[2]
                found += [] if stopped else [line]
        return found


@dataclass
class Runner:
    """A job in a workspace; artifacts are those of its workflow."""

    folder: Path
    workspace: Path
    github: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    artifacts: Path | None = None

    def run(self, **inputs: str) -> Done:
        """Run the action with inputs, in which `_` stands for `-`."""
        action = read_yaml(ACTION)
        files = self.files()
        github = {"token": "", "run_id": "1", "run_attempt": "1", "repository": "acme/skills", **self.github}
        runner = {"os": "Linux", "temp": str(self.folder)}
        context: dict[str, Any] = {"github": github, "runner": runner, "steps": {}}
        given = {name.replace("_", "-"): text for name, text in inputs.items()}
        context["inputs"] = {
            name: given.pop(name, _fill(str(one.get("default", "")), context, failed=False))
            for name, one in action["inputs"].items()
        }
        assert not given, given
        done = Done(0, {}, "", "", [], {})
        for step in action["runs"]["steps"]:
            self.step(step, context, files, done)
        done.outputs = {name: _fill(one["value"], context, failed=False) for name, one in action["outputs"].items()}
        done.summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        return done

    def asked(self) -> list[list[str]]:
        """List what Python was asked, argument by argument."""
        text = (self.folder / "asked").read_text(encoding="utf-8")
        return [call.splitlines() for call in text.split("END\n") if call]

    def files(self) -> dict[str, Path]:
        """Lay out the programs of a runner, and the files that steer it."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "bin").mkdir(exist_ok=True)
        for program, text in (("python", _PYTHON.replace("@PYTHON@", sys.executable)), ("bin/gh", _GH)):
            (self.folder / program).write_text(text)
            (self.folder / program).chmod(0o755)
        files = {f"GITHUB_{name}": self.folder / name.lower() for name in ("ENV", "OUTPUT", "PATH", "STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        return files

    def step(self, step: dict[str, Any], context: dict[str, Any], files: dict[str, Path], done: Done) -> None:
        """Do one step where its condition holds."""
        condition = str(step.get("if", "success()"))
        failed = done.code != 0
        wanted = condition if re.search(r"\b(always|success|failure)\(\)", condition) else f"success() && {condition}"
        if not _evaluate(wanted, context, failed=failed):
            return
        done.steps.append(step["name"])
        if "uses" in step:
            given = done.used[step["name"]] = _fill_all(step.get("with", {}), context, failed=failed)
            if self.artifacts and "-artifact@" in step["uses"] and Path(given["path"]).name != "skillopt-reports":
                places = Path(given["path"]), self.artifacts / given["name"]
                _copy(*(places if "/upload-" in step["uses"] else places[::-1]))
            if step.get("id") == "python":
                context["steps"]["python"] = {"outputs": {"python-path": str(self.folder / "python")}}
            return
        environment = _fill_all(step.get("env", {}), context, failed=failed)
        variables = {
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_EVENT_NAME": context["github"].get("event_name", ""),
            "GITHUB_REPOSITORY": context["github"]["repository"],
            "GITHUB_SERVER_URL": "https://github.com",
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RUNNER_ENVIRONMENT": "self-hosted",
            "RUNNER_TEMP": str(self.folder),
            **{name: str(path) for name, path in files.items()},
        }
        assert step.get("shell", "bash") == "bash"
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env={**os.environ, **variables, **self.environment, **environment},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        done.log += ended.stdout
        done.code = done.code or ended.returncode
        if "id" in step:
            lines = [line.partition("=") for line in files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()]
            assert all(sign for _, sign, _ in lines), lines
            context["steps"][step["id"]] = {"outputs": {name: value for name, _, value in lines}}


@dataclass
class Workflow:
    """A workflow of a repository on a forge; each job has a fresh clone, so that only git and artifacts join them."""

    path: Path
    remote: Path
    folder: Path
    environment: dict[str, str]
    runs: int = 0

    def start(
        self,
        name: str,
        event: dict[str, Any],
        secrets: Mapping[str, str] | None = None,
        token: str = "",
        before_gate: Callable[[], object] = lambda: None,
    ) -> dict[str, Done]:
        """Run the jobs that an event starts, each where its condition holds; which paths differ is not looked at."""
        workflow, self.runs = read_yaml(self.path), self.runs + 1
        types = (workflow["on"].get(name) or {}).get("types", ["opened"])
        if name == "pull_request" and event["action"] not in types:
            return {}
        number = event.get("pull_request", {}).get("number")
        github = {
            "event_name": name,
            "event": {"repository": {"default_branch": "main", "private": True}, **event},
            "repository": "acme/skills",
            "ref_name": "main",
            "token": token,
            "ref": f"refs/pull/{number}/head" if number else "refs/heads/main",
        }
        needs: dict[str, Any] = {}
        found: dict[str, Done] = {}
        for job, given in workflow["jobs"].items():
            context = {"github": github, "needs": needs, "secrets": secrets or {}, "steps": {}}
            needed = [given["needs"]] if isinstance(given.get("needs"), str) else given.get("needs", [])
            failed = any(needs[one]["result"] != "success" for one in needed)
            needs[job] = {"result": "skipped", "outputs": {}}
            if not _evaluate(given["if"], context, failed=failed):
                continue
            if job == "gate":
                before_gate()
            done = found[job] = self._run(job, given, context)
            outputs = _fill_all(given.get("outputs", {}), context, failed=False)
            needs[job] = {"result": "failure" if done.code else "success", "outputs": outputs}
        return found

    def _run(self, name: str, job: dict[str, Any], context: dict[str, Any]) -> Done:
        folder, done = self.folder / f"{self.runs}-{name}", Done(0, {}, "", "", [], {})
        runner = Runner(folder / "temp", folder, context["github"], artifacts=self.folder / f"{self.runs}-artifacts")
        folder.mkdir(parents=True)
        for step in job["steps"]:
            given, environment = (
                _fill_all(step.get(key, {}), context, failed=bool(done.code)) for key in ("with", "env")
            )
            runner.environment = {**self.environment, **environment}
            if step.get("uses", "").startswith("actions/checkout@"):
                runner.workspace = folder / "workspace"
                git(folder, "clone", "--quiet", self.remote.as_uri(), "workspace")
                git(runner.workspace, "fetch", "--quiet", "origin", given.get("ref") or context["github"]["ref"])
                git(runner.workspace, "checkout", "--quiet", "--detach", "FETCH_HEAD")
            elif "uses" in step:
                done = runner.run(**{name.replace("-", "_"): text for name, text in given.items()})
                context["steps"][step.get("id")] = {"outputs": done.outputs}
            else:
                runner.step(step, context, runner.files(), done)
        return done


def _copy(source: Path, target: Path) -> None:
    """Put a file or the files of a folder into a folder."""
    files = [source] if source.is_file() else [*source.iterdir()]
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        (shutil.copytree if file.is_dir() else shutil.copy)(file, target / file.name)


def _fill_all(texts: Mapping[str, object], context: Mapping[str, Any], *, failed: bool) -> dict[str, str]:
    return {name: _fill(str(text), context, failed=failed) for name, text in texts.items()}


def _fill(text: str, context: Mapping[str, Any], *, failed: bool) -> str:
    def filled(found: re.Match[str]) -> str:
        value = _evaluate(found[1].strip(), context, failed=failed)
        return str(value).lower() if isinstance(value, bool) else str(value)

    return re.sub(r"\$\{\{(.+?)\}\}", filled, text)


def _evaluate(text: str, context: Mapping[str, Any], *, failed: bool) -> object:
    """Evaluate an expression of texts as the same in Python; `and` and `or` bind as `&&` and `||` do."""
    functions = {
        "always": lambda: True,
        "success": lambda: not failed,
        "format": str.format,
        "fromJSON": json.loads,
        "startsWith": str.startswith,
        "contains": lambda where, what: what in where,
    }
    signs = {"&&": " and ", "||": " or ", "!": " not "}

    def look(name: str) -> str | bool:
        value: Any = context
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value if isinstance(value, bool) else str(value or "")

    def translate(found: re.Match[str]) -> str:
        quoted, name, sign = found.groups()
        if quoted is not None:
            return repr(quoted.replace("''", "'"))
        return signs[sign] if sign else name if name in functions else f"look({name!r})"

    return eval(f"({_TOKEN.sub(translate, text)})", {"look": look, **functions})  # noqa: S307 - of our own action
