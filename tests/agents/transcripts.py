"""A whole session as a page of docs/examples/, the same every time.

Owns what is shown and what stands for that which differs from run to run. Does not own the session (sessions).
"""

import json
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.agents.sessions import WAIT, Session
from tests.fakes.projects import git
from tools.fetch_agents import PACKAGES

_EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
PAGES = {
    "claude-code, plugin": _EXAMPLES / "session-claude-code.md",
    "codex, registered": _EXAMPLES / "session-codex.md",
}
"""The page that each way is shown on."""

_HEAD = """\
# A session in {client}

The model is simulated: a program on loopback plays the agent (`tests/fakes/host_player.py`), and the target is the
rule-following program that is built in. {client} {version}, the server, its jobs, the gate and git are real. The
program that plays the agent knows nothing of what the tools will answer: it goes by what they say.

A run of the tests produced this page, and they compare it with every run. `make transcripts` writes it anew. Jobs,
commits, ids and times differ from run to run, so names stand for them; looks at a job that still runs are left out, and
long answers are cut."""
_NAMES = {"claude": "Claude Code", "codex": "Codex"}
_LINES = 56
"""Lines of an answer that are shown."""

_BRANCH = "skillopt/rows"
# Name, pattern, and how many of its characters tell one from another; the first in this order that fits.
_VARYING = (
    ("JOB", re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b"), 20),
    ("COMMIT", re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{10})\b"), 10),
    ("ID", re.compile(r"\b[0-9a-f]{12}\b"), 12),
)
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)")
_TOOK = re.compile(r"(?<=, )(?:(?:about )?\d+ (?:s|min)\b(?=$|[,.]| of )|under 1 min(?= of ))", re.MULTILINE)
_LIST = re.compile(r'\[\n\s+"[^"\n]*"(?:,\n\s+"[^"\n]*")*\n\s+\]')


def normalised(text: str, folder: str = "") -> str:
    """Put names for what differs from run to run: jobs, commits, ids, times, and where the project lies.

    What is the same gets the same name, so that a reader can follow a job or a commit through the page.
    """
    text = _TOOK.sub("SECONDS", _TIME.sub("TIME", text.replace(folder, "PROJECT") if folder else text))
    for name, pattern, length in _VARYING:
        starts = list(dict.fromkeys(match[0][:length] for match in pattern.finditer(text)))
        text = pattern.sub(partial(_numbered, name, starts), text)
    return text


def page_of(session: Session) -> str:
    """Write a session down."""
    client = session.way.client
    sent, answered = (
        sum(len(json.dumps(one.body)) for one in session.turns),
        sum(len(one.answer) for one in session.seen.steps),
    )
    took = (
        f"They carried {sent // 1000} KB in all, most of it the client's own prompt and tools each time anew; the "
        f"answers of the server were {answered // 1000} KB of that, once."
    )
    commands = [shlex.join((client, *words)) for words in (*session.way.set_up, session.way.command)]
    wait = [f"export {name}={value}" for name, value in WAIT.items()] if client == "claude" else []
    shown = "\n".join([*commands[:-1], *wait, commands[-1]]).replace("'{market}'", "path/to/this/repository")
    parts = [
        _HEAD.format(client=_NAMES[client], version=PACKAGES[client].rpartition("@")[2]),
        "## What the user types, in the folder of a project",
        _block(shown, "sh"),
        *_steps(session),
        "## What it took",
        f"{len(session.turns)} requests to the model. {took}",
        "## What the agent says in the end",
        session.ended.stdout.strip().replace("\n", "\n\n"),
        "## What is in git",
        _console(session, "log", "--format=%h %s%n%n%b", "--abbrev=10", f"main..{_BRANCH}"),
        _console(session, "diff", "main", _BRANCH, "--", "skills"),
        "The work tree and `main` are as they were:",
        _console(session, "status", "--short", "--branch"),
    ]
    return normalised("\n\n".join(parts) + "\n", str(session.project))


def without_sizes(page: str) -> str:
    """Leave out sizes, which depend on how the folders of a machine are called."""
    return re.sub(r"\d+ KB", "N KB", page)


def _numbered(name: str, starts: list[str], match: re.Match[str]) -> str:
    return f"{name}-{starts.index(match[0][: len(starts[0])]) + 1}"


def _steps(session: Session) -> Iterator[str]:
    shown = (step for step in session.seen.steps if ": running\n" not in step.answer.partition("\n\n")[0] + "\n")
    for number, step in enumerate(shown, 1):
        tool = "" if session.way.client == "claude" else f" `{step.tool}`"
        given = json.dumps(step.arguments, indent=2, ensure_ascii=False)
        lines = step.answer.splitlines()
        left = [f"[... {len(lines) - _LINES} lines are left out here]"] if len(lines) > _LINES else []
        yield f"## {number}. `{session.seen.offered[step.tool]}`{tool}"
        yield f"The agent says: {step.words}"
        yield _block(_LIST.sub(lambda found: " ".join(found[0].split()), given), "json")
        yield f"The answer:\n\n{_block(chr(10).join([*lines[:_LINES], *left]), 'markdown')}"


def _console(session: Session, *arguments: str) -> str:
    return _block(f"$ {shlex.join(('git', *arguments))}\n{git(session.project, *arguments)}", "console")


def _block(text: str, language: str) -> str:
    fence = "`" * (max(2, *map(len, re.findall(r"`{3,}", text)), 0) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
