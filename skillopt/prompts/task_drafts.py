"""Ask for drafts of tasks from a skill's text, and read them: prompt, input files and checks of each.

A part of a reply that is no task is named with the reason and left out; the other tasks are taken.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, WithJsonSchema

from skillopt.errors import ReplyError, describe_mistake
from skillopt.prompts import fill
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.prompts.json_replies import find_object, schema_of
from skillopt.rollouts import readable
from skillopt.skills.document import Skill
from skillopt.tasks import File, Task, VerifierSpec

_SKILL_TOKENS: Final = 12_000
_FILES_TOKENS: Final = 6_000
_KNOWN_TOKENS: Final = 3_000
_MOST_READ: Final = 40
_LONGEST_ID: Final = 48
_NOTHING: Final = "(none)"


def _as_text(value: object) -> object:
    """Take JSON values, and null, where text was asked for."""
    if value is None:
        return ""
    return readable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


_Text = Annotated[str, BeforeValidator(_as_text)]
_LIST: Final = BeforeValidator(lambda value: [] if value is None else value)
_Flag = Annotated[bool, BeforeValidator(lambda value: value or False), WithJsonSchema({"type": "boolean"})]


class _File(BaseModel):
    path: _Text
    text: _Text


class _Check(BaseModel):
    kind: Literal["regex", "exact", "numeric", "json", "criteria"]
    file: _Text = ""
    pattern: _Text = ""
    value: _Text = ""
    absent: _Flag = False
    ignore_case: _Flag = False
    criteria: Annotated[tuple[_Text, ...], _LIST, Field(max_length=20)] = ()


class _Task(BaseModel):
    id: _Text = ""
    prompt: Annotated[str, BeforeValidator(_as_text), Field(pattern=r"\S", max_length=20_000)]
    files: Annotated[tuple[_File, ...], _LIST, Field(max_length=20)] = ()
    checks: Annotated[tuple[_Check, ...], Field(min_length=1, max_length=12)]
    near_miss: _Flag = False
    why: _Text = ""


class _Tasks(BaseModel):
    tasks: tuple[_Task, ...]


TASK_DRAFTS_SCHEMA: Final = schema_of(_Tasks)


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A task that a model drafted; nobody has looked at it yet."""

    task: Task
    near_miss: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class DraftReading:
    """What a reply held: drafts, and per item that is none its name and the reason."""

    drafts: tuple[TaskDraft, ...]
    unread: tuple[tuple[str, str], ...] = ()


def ask_task_drafts(skill: Skill, count: int, known: Iterable[str]) -> str:
    """Ask for drafts of tasks; `read_task_drafts` reads them."""
    texts = ((file.path, file.content) for file in skill.files if b"\0" not in file.content)
    files = "\n\n".join(f"### {path}\n{content.decode('utf-8', 'replace')}" for path, content in texts)
    listed = "\n".join(f"- {' '.join(prompt.split())}" for prompt in known)
    return fill(
        "write_tasks",
        count=str(count),
        skill=fence("skill", shorten_middle(skill.text, _SKILL_TOKENS)),
        files=fence("files", shorten_middle(files, _FILES_TOKENS)) if files else _NOTHING,
        known=fence("tasks", shorten_middle(listed, _KNOWN_TOKENS)) if listed else _NOTHING,
    )


def read_task_drafts(reply: str, taken: Iterable[str] = ()) -> DraftReading:
    """Read drafts; ids are made plain and unique."""
    stated = find_object(reply, "tasks", part="prompt")["tasks"]
    if not isinstance(stated, list) or not stated:
        raise ReplyError(f"expected a list of tasks, found {str(stated)[:80]!r}")
    drafts: list[TaskDraft] = []
    unread: list[tuple[str, str]] = []
    ids = set(taken)
    for number, raw in enumerate(stated[:_MOST_READ], 1):
        named = raw.get("id") if isinstance(raw, dict) else None
        plain = re.sub(r"[^a-z0-9]+", "-", str(named or f"task-{number}").casefold())[:_LONGEST_ID].strip("-") or "task"
        names = (plain, *(f"{plain}-{more}" for more in range(2, len(ids) + 2)))
        name = next(one for one in names if one not in ids)
        try:
            drafts.append(_draft(name, _Task.model_validate(raw)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            unread.append((name, f"{'.'.join(map(str, first['loc'])) or 'the task'}: {describe_mistake(first)}"))
        except ReplyError as error:
            unread.append((name, str(error)))
        ids.add(name)
    return DraftReading(tuple(drafts), tuple(unread))


def _draft(name: str, read: _Task) -> TaskDraft:
    files = tuple(File(file.path, file.text.encode("utf-8", "replace")) for file in read.files)
    specs = [_spec(check) for check in read.checks]
    task = Task(name, read.prompt.strip(), _joined(specs), files, ("near-miss",) if read.near_miss else ())
    return TaskDraft(task, read.near_miss, " ".join(read.why.split()))


def _spec(check: _Check) -> VerifierSpec:
    if check.kind == "criteria":
        return VerifierSpec("rubric", _options(criteria=[text for text in check.criteria if text.strip()]))
    wanted = {"regex": check.pattern, "exact": check.value, "numeric": check.value, "json": check.value}[check.kind]
    if not wanted.strip():
        raise ReplyError(f"checks: expected what the check {check.kind!r} looks for, found nothing")
    own: dict[str, object] = {"pattern" if check.kind == "regex" else "value": wanted}
    if check.kind == "json":
        try:
            own["value"] = json.loads(wanted, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ReplyError(f"checks: expected JSON in the value of a check, found: {error}") from error
    if check.kind == "regex" and check.absent:
        own["absent"] = True
    if check.kind in {"regex", "exact"} and check.ignore_case:
        own["ignore_case"] = True
    return VerifierSpec(check.kind, _options(**own, **({"file": check.file} if check.file else {})))


def _refuse(name: str) -> object:
    raise ValueError(f"{name}, which JSON has no number for")


def _joined(specs: Sequence[VerifierSpec]) -> VerifierSpec:
    """Make one verifier of several, those that cost nothing first."""
    if len(specs) == 1:
        return specs[0]
    ordered = sorted(specs, key=lambda spec: spec.judged)
    return VerifierSpec(
        "checks", _options(checks=[{"kind": spec.kind, "options": json.loads(spec.options)} for spec in ordered])
    )


def _options(**options: object) -> str:
    return json.dumps(options, sort_keys=True, separators=(",", ":"))
