"""Harness `chat`: the target is a model that is asked once, without tools, and its answer becomes files."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import SuiteError
from skillopt.protocols import Model, RolloutRequest
from skillopt.rollouts import Message, Trajectory, Usage
from skillopt.sandbox.workspace import changed_files, check_path
from skillopt.skills.document import Skill
from skillopt.tasks import File, Task

_INSTRUCTIONS: Final = (
    "You do one task, without tools and without asking back. Everything you need is in the request.\n"
)
_FILES: Final = """\

Files of the task are written out in it. To make or change a file, write it out whole:

<file path="name.txt">
its new content
</file>

The content is taken as it stands between the line of the opening mark and the line of the closing one.
What you write outside of such marks is your answer.
"""
_FILE: Final = re.compile(
    r'^<file path="(?P<path>[^"\n]+)">\n(?P<content>.*?)^</file>[ \t]*$', re.MULTILINE | re.DOTALL
)


_NAMED: Final = re.compile(r"(?<![\w/.-])(?:\./)?((?:scripts|references)/[\w./-]*\w)")


def unopened_files(targets: Iterable[str], skill: Skill) -> str:
    """Say in one line which files a skill names that a chat neither runs nor opens; empty for none, or no chat."""
    chats = [name for name in targets if name.startswith("chat/")]
    named = list(dict.fromkeys(_NAMED.findall(skill.document.body))) if chats else []
    if not named:
        return ""
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return (
        f"the skill names {named[0]}{more}, and {chats[0]} runs no script and opens no file; tasks that need one fail "
        "or get made-up results: use an agent such as claude-code"
    )


@dataclass(frozen=True, slots=True)
class ChatHarness:
    """Runs tasks by asking a model once."""

    target: Model

    @property
    def identity(self) -> str:
        """Name the model."""
        return f"chat {self.target.identity}"

    def worst_case(self, request: RolloutRequest) -> Usage:
        """Bound a rollout by its one call."""
        return self.target.worst_case(_prompt_of(request.task), system=_system_of(request))

    def run(self, request: RolloutRequest, workspace: str) -> Trajectory:
        """Ask, and write the files of the answer into the workspace."""
        reply = self.target.reply(_prompt_of(request.task), system=_system_of(request))
        written = [_write(workspace, found) for found in _FILE.finditer(reply.text)]
        answer = _FILE.sub("", reply.text).strip()
        changed = changed_files(workspace, request.task.placed) if written else ()
        messages = (
            Message("user", request.task.prompt),
            Message("assistant", reply.text),
            *(Message("harness", problem) for problem in written if problem),
        )
        said = answer or (f"Wrote {', '.join(changed)}." if changed else "")
        reason = "" if reply.status.value == "ok" else f"the model ended with {reply.status.value}"
        return Trajectory(messages, said, changed, reply.status, reason=reason, usage=reply.usage)


def _system_of(request: RolloutRequest) -> str:
    skill, task, verifier = request.skill, request.task, request.task.verifier
    in_files = bool(task.files or verifier.files) or "file" in task.prompt.casefold()
    # Two kinds of verifiers read the workspace; others, those of callers too, read it where they name a file.
    checked = (part.kind in ("command", "file") or json.loads(part.options).get("file") for part in verifier.parts)
    instructions = _INSTRUCTIONS + (_FILES if in_files or any(checked) else "")
    if skill is None:
        return instructions
    files = "".join(f"\n{_shown(file)}" for file in skill.files if not file.path.startswith("evals/"))
    rest = f"\n## Files of the skill\n{files}" if files else ""
    return f"{instructions}\n# Skill: {skill.name}\n\nFollow this skill.\n\n{skill.document.text}\n{rest}"


def _prompt_of(task: Task) -> str:
    files = "\n".join(map(_shown, task.files))
    return f"{task.prompt}\n\n## Files\n\n{files}" if files else task.prompt


def _shown(file: File) -> str:
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        return f'<file path="{file.path}" note="{len(file.content)} bytes, not text, not shown"/>'
    if len(file.content) > 200_000:  # noqa: PLR2004 - some 50,000 tokens, which most models still take
        return f'<file path="{file.path}" note="{len(file.content)} bytes, too long, not shown"/>'
    end = "" if text.endswith("\n") else "\n"
    return f'<file path="{file.path}">\n{text}{end}</file>'


def _write(workspace: str, found: "re.Match[str]") -> str:
    path = found["path"]
    try:
        check_path(path)
        place = Path(workspace, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(found["content"].encode("utf-8", "replace"))
    except (SuiteError, OSError) as error:
        return f"could not write {path!r}: {error}"
    return ""
