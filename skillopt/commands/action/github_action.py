"""Run the command line in `.github/actions/skillopt`, from the action's inputs to its outputs.

    python -P -m skillopt.commands.action.github_action run|comment|check|night-check|night-train|night-offer|cache

No step that runs rollouts has a token, and the files by which a step steers its job are named to nobody else while it
runs.
"""

import io
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast
from urllib.parse import quote

from skillopt.commands.entry import run as run_command
from skillopt.commands.output import append_report, write_report
from skillopt.errors import SettingsError, SkilloptError, UsageError
from skillopt.execution.retry import Retry, retrying_forge
from skillopt.nightly.forges import find_account, load_forge
from skillopt.nightly.handover import REPORT, read_state
from skillopt.reports.markdown import inline_code
from skillopt.review.ci_events import EventBase, find_event_base
from skillopt.settings import NightlySettings, Settings

_NIGHT_STEPS: Final = ("check", "train", "offer")
_COMMANDS: Final = ("gate", "nightly", *(f"nightly-{step}" for step in _NIGHT_STEPS))
_NIGHT: Final = {0: "unchanged", 3: "failed"}
_VERDICTS: Final = {0: "passed", 1: "refused", 3: "invalid"}
_NEUTRAL: Final = ("cannot tell", "untestable")
_CONCLUSIONS: Final = {"passed": "success", "neutral": "neutral", "none": "skipped"}
_ERRORS: Final = ("skillopt: ", "Error: ")
"""How the line begins that says why a command ended: ours, and the one of the parser of options."""

_TITLES: Final = {"nightly": "Skill training", "gate": "Skill gate"}
_ANNOTATION: Final = re.compile(r"::(?:error|warning|notice) file=")
_FORGE: Final = NightlySettings(forge="github")
"""Where the token is sent. Not the project's settings: they are part of the change."""

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
        # A finding is told once: as an annotation, when the command has ended.
        self._onward.write("".join(line for line in text.splitlines(keepends=True) if not _ANNOTATION.match(line)))
        self._onward.flush()
        return super().write(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one step of the action."""
    steps: dict[str, Callable[[], int]] = {"run": _run, "comment": _comment, "check": _check, "cache": _cache}
    steps |= {f"night-{step}": partial(_night, step) for step in _NIGHT_STEPS}
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
            outcome = _gate_outputs(ended.code, ended.result)
    except SkilloptError:
        _write_outputs(outputs, {"verdict": "error", "exit-code": "2"})
        raise
    write_report(reports / f"{command}.json", json.dumps(ended.result, ensure_ascii=False, indent=2))
    for line in filter(_ANNOTATION.match, ended.said.splitlines()):
        print(line)  # noqa: T201 - this is how a step makes an annotation
    if not summary.is_file():
        _tell_failure(command, ended, shown)
    else:
        append_report(shown, summary.read_text(encoding="utf-8"), "GITHUB_STEP_SUMMARY")
        _tell_neutral(outcome["verdict"], ended.result)
    kept = {"reports": str(reports), "summary": str(summary) if summary.is_file() else ""}
    _write_outputs(outputs, {"exit-code": str(ended.code), **outcome, **kept})
    return ended.code


def _night(step: str) -> int:
    """Run a step of a night, keep what it leaves, tell what came of it, and give its exit code."""
    place, reports = _night_folder(), _reports()
    outputs, shown = Path(_variable("GITHUB_OUTPUT")), Path(_variable("GITHUB_STEP_SUMMARY"))
    summary = place / f"{step}.md"
    try:
        arguments = _step_arguments(step, place)
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
    outcome = _night_outputs(step, ended.code, ended.result, place)
    if not ended.result:
        _tell_failure("nightly", ended, shown)
    if summary.is_file():
        text = summary.read_text(encoding="utf-8")
        write_report(reports / "nightly.md", text)
        write_report(reports / "nightly.json", json.dumps(ended.result, ensure_ascii=False, indent=2))
        if step != "train" or not outcome.get("offers") or _input("command") != "nightly":  # else offering tells it
            append_report(shown, text, "GITHUB_STEP_SUMMARY")
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
    """Return whether `.skillopt/` may go to the cache: only where it is known that not everybody may read it.

    Pull requests of a public repository can read its caches, and a ledger quotes tasks with their answers.
    """
    chosen, private = _choice("cache", ("true", "false")), (_event().get("repository") or {}).get("private")
    if private is None:
        with suppress(SkilloptError):
            found = read_state(_night_folder() / "state.json")
            private = found.forge != "none" and not found.facts.public
    if chosen == "true" and not private:
        _tell("notice", "the ledger is not cached: everybody may read this repository, or it is not known who may")
    keep = chosen == "true" and bool(private)
    _write_outputs(Path(_variable("GITHUB_OUTPUT")), {"keep": str(keep).lower()})
    return 0


def _night_folder() -> Path:
    return Path(_variable("RUNNER_TEMP")) / "skillopt-night"


def _reports() -> Path:
    return Path(_variable("RUNNER_TEMP")) / "skillopt-reports"


def _tell_failure(command: str, ended: _Ended, shown: Path) -> None:
    """Return why a command was not run, where people look."""
    reason = _reason_of(ended.said) or f"{command} ended with {ended.code}; see the log"
    _tell("error", reason)
    append_report(shown, f"## {_TITLES[command]}: not run\n\n{inline_code(reason)}\n", "GITHUB_STEP_SUMMARY")


def _tell_neutral(verdict: str, result: Mapping[str, Any]) -> None:
    """Return what a green job does not: that nothing was compared, or that a verdict is neutral."""
    if verdict == "neutral" and _input("check") != "true":
        neutral = f"the verdict is neutral ({_count_neutral(result)}), not passed"
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
    text, place = Path(_input("summary")).read_text(encoding="utf-8"), _plain_folder()
    said = f"In {inline_code(place)}:\n\n{text}" if place else text
    try:
        forge = retrying_forge(load_forge(_FORGE, "", Path()), Retry(Settings().retry_seconds))
        forge.comment(int(event["pull_request"]["number"]), f"gate {quote(place)}" if place else "gate", said)
    except SkilloptError as error:
        _tell("warning", f"no comment: {error}")
    return 0


def _check() -> int:
    """Report the verdict as a check; a forge that refuses is a warning, as with the comment."""
    text = Path(_input("summary")).read_text(encoding="utf-8")
    try:
        _report_check(_event(), _input("verdict"), text)
    except SkilloptError as error:
        advice = (
            "" if _input("verdict") != "neutral" else "; the verdict is neutral, not passed, though the job is green"
        )
        _tell("warning", f"no check: {error}{advice}")
    return 0


def _gate_arguments(reports: Path) -> tuple[list[str], list[str]]:
    """Return the options of `gate`, and its revisions, which stand behind `--` lest one be taken for an option."""
    pages = ["--junit", str(reports / "junit.xml"), "--pages", str(reports / "before-after")]
    return ["--github", *pages, *_caps(), *_more()], [_input("base") or _default_base().revision, "HEAD"]


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
        raise SettingsError(
            f"{name}: expected {', '.join(allowed[:-1])} or {allowed[-1]}, found {found!r}; correct the input"
        )
    return found


def _variable(name: str) -> str:
    found = os.environ.get(name)
    if not found:
        raise UsageError(f"expected {name} in the environment, found none; run this as a step of a GitHub workflow")
    return found


def _gate_outputs(code: int, result: Mapping[str, Any]) -> dict[str, str]:
    """Return what the outputs of the step say of a gate."""
    changes = result.get("changes", [])
    verdict = _VERDICTS.get(code, "error")
    if verdict == "passed" and any(change["standing"] in _NEUTRAL for change in changes):
        verdict = "neutral"
    spent = [usage["usd"] for change in changes for usage in (change["spent"] or {}).values()]
    return {
        "verdict": "none" if verdict == "passed" and not changes else verdict,
        "refused": str(sum(change["standing"] == "refused" for change in changes)),
        "needs-person": str(sum(any(one["person"] for one in change["findings"]) for change in changes)),
        "rollouts": str(sum(change["paid_rollouts"] for change in changes)),
        "usd": "" if None in spent else f"{sum(spent):.4f}",
    }


def _count_neutral(result: Mapping[str, Any]) -> str:
    """Return how many skills neither passed nor were refused, as in `2 cannot tell, 1 untestable`."""
    standings = [change["standing"] for change in result.get("changes", [])]
    counts = {standing: standings.count(standing) for standing in _NEUTRAL}
    return ", ".join(f"{count} {standing}" for standing, count in counts.items() if count)


def _reason_of(said: str) -> str:
    """Find the line that says why a command ended, without what it begins with; empty when there is none."""
    lines = [line.strip() for line in reversed(said.splitlines())]
    found = next((line for line in lines if line.startswith(_ERRORS)), "")
    return next((found.removeprefix(begin) for begin in _ERRORS if found.startswith(begin)), "")


def _report_check(event: Mapping[str, Any], verdict: str, text: str) -> None:
    """Report the verdict as a check of the change's last commit."""
    from skillopt.nightly.github import CheckRun, GitHubForge

    account = find_account()
    head = ((event.get("pull_request") or {}).get("head") or {}).get("sha")
    commit, repository = str(head or os.environ.get("GITHUB_SHA", "")), os.environ.get("GITHUB_REPOSITORY", "")
    if account is None or not commit or not repository:
        missing = "a token" if account is None else "GITHUB_REPOSITORY and the commit of the change"
        raise SkilloptError(f"expected {missing}, found none; set the input github-token in a workflow of GitHub")
    place = _plain_folder()
    run = CheckRun(
        commit,
        "Skill gate verdict" + (f" ({place})" if place else ""),
        _CONCLUSIONS.get(verdict, "failure"),  # type: ignore[arg-type]  # mypy widens the literals of a dict
        text.partition("\n")[0].lstrip("# ") or f"Skill gate: {verdict}",
        text,
    )
    Retry(Settings().retry_seconds).call(lambda: GitHubForge(account, repository).post_check_run(run))


def _plain_folder() -> str:
    """Return the working directory as a plain path, empty for the workspace itself."""
    path = PurePosixPath(_input("working-directory") or ".").as_posix()
    return "" if path == "." else path


def _step_arguments(step: str, place: Path) -> list[str]:
    """Return the arguments of a step of `nightly`."""
    state, offers = str(place / "state.json"), str(place / "offers")
    match step:
        case "check":
            one = [f"--pull-request={_input('pull-request')}"] if _input("pull-request") else []
            return ["check", "--output", state, *one]
        case "train":
            return ["train", "--state", state, "--output", offers, *_caps(), *_more()]
        case _:
            return ["offer", offers]


def _night_outputs(step: str, code: int, result: Mapping[str, Any], place: Path) -> dict[str, str]:
    """Return what the outputs say of a step of a night."""
    offers = {"offers": "true" if (place / "offers" / "offers.json").is_file() else ""}
    if step == "check":
        return {"verdict": "" if code == 0 else "error", "asked": str(len(result.get("asked", [])))}
    if not result:
        return {"verdict": "error", **offers}
    skills = result.get("skills", [])
    improved = sum(row["versions"] > 0 for row in skills)
    verdict, usd = _NIGHT.get(code, "error"), result.get("usd")
    return {
        "verdict": "improved" if verdict == "unchanged" and improved else verdict,
        "improved": str(improved),
        "pull-requests": json.dumps([row["offer"]["url"] for row in skills if row["offer"]["action"]]),
        "rollouts": str(result.get("rollouts", 0)),
        "usd": "" if usd is None else f"{usd:.4f}",
        **offers,
    }


if __name__ == "__main__":
    sys.exit(main())
