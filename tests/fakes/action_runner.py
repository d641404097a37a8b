"""A small double of GitHub's runner: the steps of a composite action, with expressions as far as the action uses them.

A step that `uses` another action is noted with its `with`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

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
    """A job in a workspace."""

    folder: Path
    workspace: Path
    github: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, **inputs: str) -> Done:
        """Run the action with inputs, in which `_` stands for `-`."""
        action = read_yaml(ACTION)
        files = self._files()
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
            self._step(step, context, files, done)
        done.outputs = {name: _fill(one["value"], context, failed=False) for name, one in action["outputs"].items()}
        done.summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        return done

    def asked(self) -> list[list[str]]:
        """List what Python was asked, argument by argument."""
        text = (self.folder / "asked").read_text(encoding="utf-8")
        return [call.splitlines() for call in text.split("END\n") if call]

    def _files(self) -> dict[str, Path]:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "bin").mkdir(exist_ok=True)
        for program, text in (("python", _PYTHON.replace("@PYTHON@", sys.executable)), ("bin/gh", _GH)):
            (self.folder / program).write_text(text)
            (self.folder / program).chmod(0o755)
        files = {f"GITHUB_{name}": self.folder / name.lower() for name in ("ENV", "OUTPUT", "PATH", "STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        return files

    def _step(self, step: dict[str, Any], context: dict[str, Any], files: dict[str, Path], done: Done) -> None:
        condition = str(step.get("if", "success()"))
        failed = done.code != 0
        wanted = condition if re.search(r"\b(always|success|failure)\(\)", condition) else f"success() && {condition}"
        if not _evaluate(wanted, context, failed=failed):
            return
        done.steps.append(step["name"])
        if "uses" in step:
            done.used[step["name"]] = _fill_all(step.get("with", {}), context, failed=failed)
            if step.get("id") == "python":
                context["steps"]["python"] = {"outputs": {"python-path": str(self.folder / "python")}}
            return
        environment = _fill_all(step.get("env", {}), context, failed=failed)
        variables = {
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_REPOSITORY": context["github"]["repository"],
            "GITHUB_SERVER_URL": "https://github.com",
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RUNNER_ENVIRONMENT": "self-hosted",
            "RUNNER_TEMP": str(self.folder),
            **{name: str(path) for name, path in files.items()},
        }
        assert step["shell"] == "bash"
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


def _fill_all(texts: Mapping[str, object], context: Mapping[str, Any], *, failed: bool) -> dict[str, str]:
    return {name: _fill(str(text), context, failed=failed) for name, text in texts.items()}


def _fill(text: str, context: Mapping[str, Any], *, failed: bool) -> str:
    def filled(found: re.Match[str]) -> str:
        value = _evaluate(found[1].strip(), context, failed=failed)
        return str(value).lower() if isinstance(value, bool) else str(value)

    return re.sub(r"\$\{\{(.+?)\}\}", filled, text)


def _evaluate(text: str, context: Mapping[str, Any], *, failed: bool) -> object:
    """Evaluate an expression of texts as the same in Python; `and` and `or` bind as `&&` and `||` do."""
    functions = {"always": lambda: True, "success": lambda: not failed, "format": str.format}
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
