"""Verifiers, which score what a rollout left behind; one file per kind, imported on use.

Running the rollout is in execution.
"""

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import SuiteError, describe_field
from skillopt.protocols import Model, Verifier
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.bubblewrap import SandboxChoice
from skillopt.sandbox.workspace import Unreadable, check_path, read_workspace_file
from skillopt.tasks import JUDGED_KINDS, VerifierSpec

VERIFIERS = {
    "checks": "skillopt.verifiers.checks:ChecksVerifier",
    "command": "skillopt.verifiers.command:CommandVerifier",
    "exact": "skillopt.verifiers.exact:ExactVerifier",
    "file": "skillopt.verifiers.file:FileVerifier",
    "json": "skillopt.verifiers.json_value:JsonVerifier",
    "numeric": "skillopt.verifiers.numeric:NumericVerifier",
    "regex": "skillopt.verifiers.regex:RegexVerifier",
    "rubric": "skillopt.verifiers.rubric:RubricVerifier",
    "table": "skillopt.verifiers.table:TableVerifier",
    "tool_order": "skillopt.verifiers.tool_calls:ToolOrderVerifier",
    "tool_used": "skillopt.verifiers.tool_calls:ToolUsedVerifier",
}
"""Kind → `module:class` of every driver."""


_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def load_verifier(spec: VerifierSpec, judge: Model | None = None, sandbox: SandboxChoice = "auto") -> Verifier:
    """Import a driver and make a verifier of it; a judge is needed for scoring only, not while a suite is read."""
    if spec.kind not in VERIFIERS:
        near = get_close_matches(spec.kind, VERIFIERS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known kinds: {', '.join(VERIFIERS)}"
        raise SuiteError(f"expected the kind of a verifier, found {spec.kind!r}; {hint}")
    wanted: dict[str, object] = {"judge": judge} if spec.kind in JUDGED_KINDS | {"checks"} else {}
    if spec.kind in ("command", "checks"):
        wanted["sandbox"] = sandbox
    module, _, driver = VERIFIERS[spec.kind].partition(":")
    return cast("Verifier", getattr(import_module(module), driver)(spec, **wanted))  # the table names only verifiers


def _checked(path: str) -> str:
    try:
        check_path(path)
    except SuiteError as error:
        raise ValueError(str(error)) from error
    return path


FileName = Annotated[str, AfterValidator(_checked)]
"""A relative path that stays in its folder."""

FolderOrFile = Annotated[str, AfterValidator(lambda path: path if _checked(path.removesuffix("/")) else "")]
"""A relative path, of a folder with a `/` at its end."""


class StrictOptions(BaseModel):
    """Options, none of them unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Options(StrictOptions):
    """Options of the kinds that judge one result."""

    file: Annotated[
        FileName | None, Field(description="Workspace file that holds the result; without it, the final answer does.")
    ] = None


class ComparedOptions(Options):
    """Options of the kinds that expect a value; one of `value` and `expected` is required."""

    expected: Annotated[FileName | None, Field(description="Reference file that holds what is expected.")] = None


class ToleranceOptions(Options):
    """Options of the kinds that compare many values."""

    absolute_tolerance: Annotated[
        float, Field(description="Largest difference of two numbers.", ge=0, allow_inf_nan=False)
    ] = 0.0
    relative_tolerance: Annotated[
        float,
        Field(description="Largest difference of two numbers as a share of the larger.", ge=0, allow_inf_nan=False),
    ] = 0.0
    max_feedback: Annotated[int, Field(description="Most differences named in the feedback.", ge=1, le=1000)] = 12


AnyOptions = TypeVar("AnyOptions", bound=BaseModel)


def read_options(model: type[AnyOptions], spec: VerifierSpec) -> AnyOptions:
    """Validate the options of a verifier."""
    try:
        options = model.model_validate_json(spec.options)
    except ValidationError as error:
        _, problem = describe_invalid(error, "option", list(model.model_fields))
        raise SuiteError(f"verifier {spec.kind!r}: {problem}") from error
    if isinstance(options, ComparedOptions) and len({"value", "expected"} & options.model_fields_set) != 1:
        raise SuiteError(f"verifier {spec.kind!r}: expected one of the options 'value' and 'expected'; keep or add one")
    return options


def describe_invalid(error: ValidationError, noun: str, known: Sequence[str]) -> tuple[tuple[str | int, ...], str]:
    """Return the place of the first mistake in keys or options, and what is wrong there."""
    # A misspelt key is two mistakes: one that nobody knows, and one that is missing.
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    problem = describe_field(first, noun, known)
    told = first["type"] in ("extra_forbidden", "missing", "value_error")
    return first["loc"], problem if told else f"{problem}; see `skillopt docs tasks-and-verifiers`"


def read_reference(spec: VerifierSpec, name: str) -> bytes:
    """Return the bytes of a reference file."""
    for file in spec.files:
        if file.path == name:
            return file.content
    found = ", ".join(repr(file.path) for file in spec.files) or "none"
    raise SuiteError(
        f"verifier {spec.kind!r}: expected a file {name!r} among its files, found {found}; add it under `files`"
    )


def decode_reference(spec: VerifierSpec, name: str) -> str:
    """Return the text of a reference file, a byte order mark left out."""
    try:
        return read_reference(spec, name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SuiteError(
            f"verifier {spec.kind!r}: expected UTF-8 in {name!r}, found {error.reason} at byte {error.start}; "
            "save the file as UTF-8"
        ) from error


def read_text(
    file: str | None, trajectory: Trajectory, workspace: str, limit: int = 1_000_000
) -> tuple[str, str] | Score:
    """Read the name and the text of a result, a byte order mark left out, or give the score of one that is no text."""
    result = read_result(file, trajectory, workspace, limit)
    if isinstance(result, Score):
        return result
    try:
        return result[0], result[1].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return failed(f"{result[0]}: expected UTF-8 text, found {error.reason} at byte {error.start}")


def read_result(file: str | None, trajectory: Trajectory, workspace: str, limit: int) -> tuple[str, bytes] | Score:
    """Read the name and the bytes of a result, a workspace file or else the answer; score one that cannot be read."""
    name = file or "answer"
    content: bytes | Unreadable
    if file is not None:
        content = read_workspace_file(workspace, file, limit)
    else:
        content = trajectory.answer.encode("utf-8", "surrogatepass")
        if len(content) > limit:
            content = Unreadable(f"expected at most {limit} bytes, found {len(content)}")
        elif not content.strip():
            content = Unreadable("missing")
    return failed(f"{name}: {content.reason}") if isinstance(content, Unreadable) else (name, content)


def written_trace(trajectory: Trajectory) -> str:
    """Write out what a run did, one JSON value a line: each text, tool call and its result, and the final answer."""
    lines: list[object] = []
    for message in trajectory.messages:
        if message.role == "assistant":
            lines += [{"type": "text", "text": message.text}] if message.text else []
            for call in message.tool_calls:
                try:
                    given = json.loads(call.arguments)
                except ValueError:
                    given = call.arguments
                lines += [{"type": "tool_use", "name": call.name, "input": given}]
                lines += [{"type": "tool_result", "content": call.result}]
    lines.append({"type": "result", "result": trajectory.answer})
    return "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)


def last_code_block(answer: str) -> str:
    """Take the last code block of an answer that has one, else all of it."""
    blocks = _FENCED.findall(answer)
    return str(blocks[-1]) if blocks else answer


def failed(feedback: str) -> Score:
    """Score a result that has nothing right."""
    return Score(0.0, passed=False, feedback=feedback)


def shorten_end(text: str, limit: int = 300) -> str:
    """Cut the end of a long text, counting what is cut."""
    return text if len(text) <= limit else f"{text[:limit]}[... {len(text) - limit} more characters]"


def quote_json(value: object) -> str:
    r"""Write a value as JSON on one line, everything invisible escaped; cut long text.

    >>> print(quote_json("1\u00a0200 €"))
    "1\u00a0200 €"
    """
    text = json.dumps(shorten_end(value) if isinstance(value, str) else value, ensure_ascii=False)
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
