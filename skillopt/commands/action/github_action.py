"""Run the command line in `.github/actions/skillopt`, from the action's inputs to its outputs.

    python -P -m skillopt.commands.action.github_action run|comment|check|night-check|night-train|night-offer|cache

Inputs, outputs, annotations and the job's summary are here, what only a gate has in cli.gate_action, and what only a
night has in cli.night_action. No step that runs rollouts has a token, and the files by which a step steers its job are
named to nobody else while it runs.
"""

import io
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from skillopt.commands.action.gate_action import comment_on_change, count_neutral, gate_outputs, reason_of, report_check
from skillopt.commands.action.night_action import NIGHT_STEPS, may_cache, night_outputs, step_arguments
from skillopt.commands.entry import run as run_command
from skillopt.commands.output import append_report, write_report
from skillopt.errors import SettingsError, SkilloptError, UsageError
from skillopt.nightly.handover import REPORT
from skillopt.reports.escape_markdown import inline_code
from skillopt.review.ci_events import EventBase, find_event_base

__all__ = ["MOST_SUMMARY_BYTES", "cut_report", "main"]

MOST_SUMMARY_BYTES: Final = 1024 * 1024
"""Of one step; GitHub shows nothing of a longer one."""

_MOST_COMMENT: Final = 65_536 - 600
"""Bytes of a comment; the rest is for the mark by which it is found again, and for where it was run."""

_CUT: Final = "\nThe rest is left out here; the reports of the job have all of it.\n"
_COMMANDS: Final = ("gate",)
_TITLES: Final = {"nightly": "Skill training", "gate": "Skill gate"}
_ANNOTATION: Final = re.compile(r"::(?:error|warning|notice) file=")
_FILES: Final = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a command ended: its exit code, its result, and what it said on stderr."""

    code: int
    result: Mapping[str, Any]
    said: str


class _Echo(io.StringIO):
    """Keeps what is written, and writes it on at once."""

    def __init__(self, onward: io.TextIOBase) -> None:
        super().__init__()
        self._onward = onward

    def write(self, text: str) -> int:
        self._onward.write(text)
        self._onward.flush()
        return super().write(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one step of the action."""
    steps: dict[str, Callable[[], int]] = {"run": _run, "comment": _comment, "check": _check, "cache": _cache}
    steps |= {f"night-{step}": partial(_night, step) for step in NIGHT_STEPS}
    name = next(iter(sys.argv[1:] if arguments is None else arguments), "")
    try:
        if name not in steps:
            raise UsageError(f"expected a step of {sorted(steps)}, found {name!r}")
        return steps[name]()
    except SkilloptError as error:
        _tell("error", str(error))
        return error.exit_code


def _run() -> int:
    """Run the gate, keep its reports, tell what came of it, and give its exit code."""
    reports = _reports()
    outputs, shown = Path(_variable("GITHUB_OUTPUT")), Path(_variable("GITHUB_STEP_SUMMARY"))
    try:
        command = _choice("command", _COMMANDS)
        arguments = _gate_arguments(reports)
        shutil.rmtree(reports, ignore_errors=True)  # of an earlier use in this job, which has kept them
        reports.mkdir()
        summary = reports / f"{command}.md"
        with chdir(_folder()), _unsteered():
            ended = _call([command, *arguments[0], "--summary", str(summary), "--json", "--", *arguments[1]])
            outcome = gate_outputs(ended.code, ended.result)
    except SkilloptError:
        _write_outputs(outputs, {"verdict": "error", "exit-code": "2"})
        raise
    write_report(reports / f"{command}.json", json.dumps(ended.result, ensure_ascii=False, indent=2))
    for line in filter(_ANNOTATION.match, ended.said.splitlines()):
        print(line)  # noqa: T201 - this is how a step makes an annotation
    if not summary.is_file():
        _tell_failure(command, ended, shown)
    else:
        append_report(shown, cut_report(summary.read_text(encoding="utf-8"), MOST_SUMMARY_BYTES), "GITHUB_STEP_SUMMARY")
        _tell_neutral(outcome["verdict"], ended.result)
    kept = {"reports": str(reports), "summary": str(summary) if summary.is_file() else ""}
    _write_outputs(outputs, {"exit-code": str(ended.code), **outcome, **kept})
    return ended.code


def _night(step: str) -> int:
    """Run a step of a night, keep what it leaves, tell what came of it, and give its exit code."""
    place, reports = Path(_variable("RUNNER_TEMP")) / "skillopt-night", _reports()
    outputs, shown = Path(_variable("GITHUB_OUTPUT")), Path(_variable("GITHUB_STEP_SUMMARY"))
    summary = place / f"{step}.md"
    try:
        names = ("forge", "remote", "pull-request")
        arguments = step_arguments(step, place, {name: _input(name) for name in names}, _caps(), _more())
        if step == "check" or (step == "train" and _input("command") != "nightly"):
            shutil.rmtree(reports, ignore_errors=True)
        for folder in (place, reports):
            folder.mkdir(exist_ok=True)
        summary.unlink(missing_ok=True)
        with chdir(_folder()), _unsteered():
            told = [] if step == "check" else ["--summary", str(summary)]
            ended = _call(["nightly", *arguments, *told, "--json"])
            if step == "train":
                _keep_runs(ended.result, place / "offers" / REPORT, reports)
    except SkilloptError:
        _write_outputs(outputs, {"verdict": "error", "exit-code": "2"})
        raise
    outcome = night_outputs(step, ended.code, ended.result, place)
    if not ended.result:
        _tell_failure("nightly", ended, shown)
    if summary.is_file():
        text = summary.read_text(encoding="utf-8")
        write_report(reports / "nightly.md", text)
        write_report(reports / "nightly.json", json.dumps(ended.result, ensure_ascii=False, indent=2))
        if step != "train" or not outcome.get("offers") or _input("command") != "nightly":  # else offering tells it
            append_report(shown, cut_report(text, MOST_SUMMARY_BYTES), "GITHUB_STEP_SUMMARY")
    kept = {"reports": str(reports), "summary": str(reports / "nightly.md") if summary.is_file() else ""}
    _write_outputs(outputs, {"exit-code": str(ended.code), **outcome, **kept})
    return ended.code


def _keep_runs(result: Mapping[str, Any], pages: Path, reports: Path) -> None:
    """Keep a report of each run of a night, and the pages that training made."""
    if pages.is_dir():
        shutil.copytree(pages, reports, dirs_exist_ok=True)
    for run in (row["run"] for row in result.get("skills", []) if row["run"]):
        for suffix in ("html", "md"):
            _call(["report", run, "--output", str(reports / f"{run}.{suffix}")])


def _cache() -> int:
    """Return whether the ledger may go to the cache."""
    state = Path(_variable("RUNNER_TEMP")) / "skillopt-night" / "state.json"
    chosen = _choice("cache", ("true", "false"))
    keep = chosen == "true" and may_cache(_event(), state)
    if chosen == "true" and not keep:
        _tell("notice", "the ledger is not cached: everybody may read this repository, or it is not known who may")
    _write_outputs(Path(_variable("GITHUB_OUTPUT")), {"keep": str(keep).lower()})
    return 0


def _reports() -> Path:
    return Path(_variable("RUNNER_TEMP")) / "skillopt-reports"


def _tell_failure(command: str, ended: _Ended, shown: Path) -> None:
    """Return why a command was not run, where people look."""
    reason = reason_of(ended.said) or f"{command} ended with {ended.code}; see the log"
    _tell("error", reason)
    append_report(shown, f"## {_TITLES[command]}: not run\n\n{inline_code(reason)}\n", "GITHUB_STEP_SUMMARY")


def _tell_neutral(verdict: str, result: Mapping[str, Any]) -> None:
    """Return what a green job does not: that nothing was compared, or that a verdict is neutral."""
    if verdict == "neutral" and _input("check") != "true":
        neutral = f"the verdict is neutral ({count_neutral(result)}), not passed"
        _tell("notice", f"{neutral}; a job has no such end, so this one is green: read the summary")
    if verdict == "none" and not _input("base"):
        found = _default_base()
        compared = f"no skill differs from {found.revision}, {found.reason}"
        _tell("notice", f"{compared}; set the input base to compare with another")


def _comment() -> int:
    """Keep one comment up to date; a forge that refuses is a warning, for the verdict stands without it."""
    event = _event()
    source = (((event.get("pull_request") or {}).get("head") or {}).get("repo") or {}).get("full_name")
    if source != _variable("GITHUB_REPOSITORY"):
        _tell("notice", "no comment: the change comes from another repository, so there is no token for one")
        return 0
    text = Path(_input("summary")).read_text(encoding="utf-8")
    try:
        comment_on_change(event, cut_report(text, _MOST_COMMENT), _input("working-directory"))
    except SkilloptError as error:
        _tell("warning", f"no comment: {error}")
    return 0


def _check() -> int:
    """Report the verdict as a check; a forge that refuses is a warning, as with the comment."""
    text = Path(_input("summary")).read_text(encoding="utf-8")
    try:
        report_check(_event(), _input("verdict"), cut_report(text, _MOST_COMMENT), _input("working-directory"))
    except SkilloptError as error:
        advice = (
            "" if _input("verdict") != "neutral" else "; the verdict is neutral, not passed, though the job is green"
        )
        _tell("warning", f"no check: {error}{advice}")
    return 0


def cut_report(text: str, most: int) -> str:
    r"""Keep the first lines of a Markdown text where only so many bytes are shown, and say that there is more.

    >>> cut_report("one\ntwo\n", 8) == "one\ntwo\n", cut_report("word\n" * 30, 80).count("word")
    (True, 2)
    """
    if len(text.encode()) <= most:
        return text
    kept = text.encode()[: most - len(_CUT)].decode("utf-8", "ignore")
    kept = kept[: kept.rfind("\n") + 1]
    if kept.count("<details>") > kept.count("</details>"):
        kept = kept[: kept.rfind("<details>")]
    return kept + _CUT


def _gate_arguments(reports: Path) -> tuple[list[str], list[str]]:
    """Return the options of `gate`, and its revisions, which stand behind `--` lest one be taken for an option."""
    options = ["--require", _choice("require", ("not-worse", "better")), "--github"]
    options += ["--junit", str(reports / "junit.xml"), "--pages", str(reports / "before-after"), *_caps()]
    options += [f"--{name}" for name in ("release", "strict") if _choice(name, ("true", "false")) == "true"]
    return [*options, *_more()], [_input("base") or _default_base().revision, _input("head") or "HEAD"]


def _caps() -> list[str]:
    names = [name for name in ("max-rollouts", "max-usd") if _input(name)]
    return [f"--{name}={_input(name)}" for name in names]


def _more() -> list[str]:
    """Return the arguments of the input `args`, a line each."""
    return [line.strip() for line in _input("args").splitlines() if line.strip()]


def _default_base() -> EventBase:
    """Find what the event compares with; a schedule runs on the default branch, which its payload may not name."""
    scheduled = os.environ.get("GITHUB_EVENT_NAME") == "schedule"
    return find_event_base(_event(), os.environ.get("GITHUB_REF_NAME", "") if scheduled else "")


def _call(arguments: Sequence[str]) -> _Ended:
    """Run the command line in this process; whatever it says is no command to the service."""
    out, error, token = io.StringIO(), _Echo(cast("io.TextIOBase", sys.stderr)), secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)  # noqa: T201 - what a step prints is its command
    try:
        with redirect_stdout(out), redirect_stderr(error):
            code = run_command(arguments)
    finally:
        print(f"::{token}::", flush=True)  # noqa: T201 - as above
    try:
        result = json.loads(out.getvalue())
    except ValueError:
        result = {}
    return _Ended(code or (0 if result else UsageError.exit_code), result, error.getvalue())


def _folder() -> Path:
    """Return the folder to work in, which must be in the workspace."""
    workspace = Path(_variable("GITHUB_WORKSPACE")).resolve()
    folder = (workspace / (_input("working-directory") or ".")).resolve()
    if not folder.is_relative_to(workspace) or not folder.is_dir():
        message = f"working-directory: expected a folder in the workspace, found {_input('working-directory')!r}"
        raise UsageError(f"{message}; check out the repository first")
    return folder


def _event() -> Mapping[str, Any]:
    """Read what happened."""
    path = Path(_variable("GITHUB_EVENT_PATH"))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH: expected a file of JSON, found {path}: {error}") from error
    return found if isinstance(found, dict) else {}


@contextmanager
def _unsteered() -> Iterator[None]:
    """Take the files that steer a job out of the environment that other programs may inherit."""
    taken = {name: os.environ.pop(name) for name in _FILES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)


def _write_outputs(path: Path, values: Mapping[str, str]) -> None:
    """Tell the outputs of the step, each between lines that its value cannot hold."""
    end = secrets.token_hex(16)
    append_report(path, "".join(f"{name}<<{end}\n{text}\n{end}\n" for name, text in values.items()), "GITHUB_OUTPUT")


def _tell(kind: str, text: str) -> None:
    """Make an annotation without a place."""
    data = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{kind} title=skillopt::{data}", flush=True)  # noqa: T201 - this is how a step makes an annotation


def _input(name: str) -> str:
    return os.environ.get(f"INPUT_{name.upper().replace('-', '_')}", "").strip()


def _choice(name: str, allowed: Sequence[str]) -> str:
    found = _input(name)
    if found not in allowed:
        raise SettingsError(f"{name}: expected {' or '.join(allowed)}, found {found!r}; correct the input")
    return found


def _variable(name: str) -> str:
    found = os.environ.get(name)
    if not found:
        raise UsageError(f"expected {name} in the environment, found none; run this as a step of a GitHub workflow")
    return found


if __name__ == "__main__":
    sys.exit(main())
