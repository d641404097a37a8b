"""Verifiers made of what other formats check: texts, patterns, files, tools, criteria for a judge."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skillopt.errors import SuiteError
from skillopt.tasks import File, VerifierSpec

_NAMED_GROUP: Final = re.compile(r"(?<!\\)\(\?<(?![=!])")
_FLAGS: Final = {"i": "ignore_case", "m": "multiline", "s": "dotall"}
_LONGEST_NAME: Final = 100  # a line of feedback


def one_line(text: str) -> str:
    """Shorten a text to a name for feedback."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """One of several checks that score a task."""

    kind: str
    options: Mapping[str, object]
    name: str = ""
    weight: float = 1.0
    files: tuple[File, ...] = field(default=())


def text_check(texts: str | Iterable[str], *, ignore_case: bool = False, absent: bool = False) -> TaskCheck:
    """Check that one of some texts is in the answer, or none of them."""
    several = [texts] if isinstance(texts, str) else list(texts)
    options: dict[str, object] = {"pattern": "|".join(map(re.escape, several))}
    return TaskCheck("regex", {**options, **_chosen(ignore_case=ignore_case, absent=absent)})


def pattern_check(
    pattern: str, flags: str = "", *, absent: bool = False, file: str = "", trace: bool = False
) -> TaskCheck:
    """Check that a pattern is in the answer, in a file or in all that was done, or is not."""
    # The last are flags of JavaScript that change nothing for a search, or only how it is written.
    unknown = set(flags) - set(_FLAGS) - set("dguvy")
    if unknown:
        raise SuiteError(f"expected flags of {''.join(_FLAGS)}, found {flags!r}; correct them")
    chosen = {_FLAGS[flag]: True for flag in sorted(flags) if flag in _FLAGS}
    options: dict[str, object] = {
        "pattern": _NAMED_GROUP.sub("(?P<", pattern),
        **_chosen(absent=absent, trace=trace),
        **chosen,
    }
    if not file:
        return TaskCheck("regex", options)
    letters = "".join(flag for flag in "ms" if _FLAGS[flag] in chosen)
    for flag in letters:
        del options[_FLAGS[flag]]
    text = f"(?{letters}){options['pattern']}" if letters else options["pattern"]
    return TaskCheck("file", {**options, "path": file, "pattern": text})


def criterion(text: str, reference: str = "", *, trace: bool = False) -> TaskCheck:
    """Have a judge decide whether something holds, of the result or of all that was done."""
    given = {"reference": reference} if reference else {}
    return TaskCheck("rubric", {"criteria": [text], **given, **_chosen(trace=trace)})


def tool_check(step: Mapping[str, object], least: int | None = None, most: int | None = None) -> TaskCheck:
    """Check how often a tool is used: at least once, or within bounds."""
    bounds: dict[str, object] = {"min": least} if least is not None else {}
    if most is not None:
        bounds = {"min": min(1, most), **bounds, "max": most}
    return TaskCheck("tool_used", {**step, **bounds})


def verifier_of(checks: Sequence[TaskCheck], threshold: float | None = None) -> VerifierSpec:
    """Make one verifier of all checks of a task; criteria of the same weight and reference are judged in one go."""
    if not checks:
        raise SuiteError("expected a check of the result, found none; say what a good result is")
    joined = _joined(checks)
    files = tuple({file.path: file for check in checks for file in check.files}.values())
    if len(joined) == 1 and threshold is None:
        return VerifierSpec(joined[0].kind, _written(joined[0].options), files)
    several = [
        {
            "kind": check.kind,
            "options": check.options,
            **({"name": check.name} if check.name else {}),
            **({"weight": check.weight} if check.weight != 1 else {}),
        }
        for check in joined
    ]
    limit = {} if threshold is None else {"threshold": threshold}
    return VerifierSpec("checks", _written({"checks": several, **limit}), files)


def _joined(checks: Sequence[TaskCheck]) -> list[TaskCheck]:
    rubrics: dict[tuple[object, ...], list[TaskCheck]] = {}
    for check in checks:
        if check.kind == "rubric":
            rubrics.setdefault(_judged_alike(check), []).append(check)
    joined = []
    for check in checks:
        if check.kind != "rubric":
            joined.append(check)
            continue
        same = rubrics.pop(_judged_alike(check), [])
        if same:
            listed = (each.options["criteria"] for each in same)
            texts = list(dict.fromkeys(str(text) for one in listed if isinstance(one, list) for text in one))
            name = check.name if len(same) == 1 else ""
            joined.append(TaskCheck("rubric", {**check.options, "criteria": texts}, name, check.weight * len(same)))
    return joined


def _judged_alike(check: TaskCheck) -> tuple[object, ...]:
    return check.options.get("reference"), check.options.get("trace"), check.weight


def _chosen(**options: bool) -> dict[str, object]:
    return {name: True for name, chosen in options.items() if chosen}


def _written(options: Mapping[str, object]) -> str:
    return json.dumps(options, sort_keys=True, separators=(",", ":"))
