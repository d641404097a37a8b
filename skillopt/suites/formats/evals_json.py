"""Load a suite from a skill's own evals: `evals/evals.json` of the Agent Skills convention.

docs/suite-format.md describes the keys. Every mistake is found at load, with its file and line.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from skillopt.errors import SuiteError
from skillopt.suites.reading import Reading
from skillopt.suites.sources import Source, describe_error, error_at, read_json
from skillopt.tasks import File, Task, VerifierSpec
from skillopt.verifiers import FileName, load_verifier

__all__ = ["EvalEntry", "EvalsEntry", "read_evals"]

_INPUTS: Final = "evals/files/"
_LIKE_THE_REFERENCE: Final = "The result agrees with the expected output."
_MOST_CRITERIA: Final = 50
_LONGEST_ID: Final = 195


def _whole(text: str) -> str:
    """Refuse half of a surrogate pair, which JSON can contain and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start : error.end]
        raise ValueError(f"expected text, found {half!a}, half of a character; correct it") from error
    return text


def _filled(value: object) -> object:
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError(f"expected text that is not empty, found {value!r:.100}; correct it")


def _text_of(value: object) -> object:
    """Take the text of a criterion that is written as an object."""
    return _filled(value["text"] if isinstance(value, dict) and "text" in value else value)


def _id_text(value: object) -> object:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str) and len(text) <= _LONGEST_ID and text.split() == [text]:
        return text
    raise ValueError(
        f"expected a number, or text without spaces of at most {_LONGEST_ID} characters, found {value!r:.100}; "
        "change it"
    )


def _or_none_given(value: object) -> object:
    return () if value is None else value


_Text = Annotated[str, AfterValidator(_whole)]
_Criteria = Annotated[tuple[Annotated[_Text, BeforeValidator(_text_of)], ...], BeforeValidator(_or_none_given)]


class EvalEntry(BaseModel):
    """One eval of the file; keys of other tools are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Annotated[_Text, BeforeValidator(_id_text)]
    prompt: Annotated[_Text, BeforeValidator(_filled)]
    expected_output: _Text | None = None
    files: Annotated[tuple[Annotated[FileName, AfterValidator(_whole)], ...], BeforeValidator(_or_none_given)] = ()
    expectations: _Criteria = ()
    assertions: _Criteria = ()

    @property
    def reference(self) -> str | None:
        """Give the expected output, None where it says nothing."""
        return self.expected_output if self.expected_output and self.expected_output.strip() else None

    @property
    def criteria(self) -> tuple[str, ...]:
        """List what is to be judged, each once."""
        written = tuple(dict.fromkeys((*self.expectations, *self.assertions)))
        return written or ((_LIKE_THE_REFERENCE,) if self.reference else ())


class EvalsEntry(BaseModel):
    """The file of evals; keys of other tools are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    skill_name: _Text | None = None
    evals: tuple[EvalEntry, ...]


def read_evals(path: Path) -> Reading:
    """Read the evals of a skill.

    Args:
        path: The file `evals.json`, in a folder of the skill folder.

    Raises:
        SuiteError: Something is wrong; the message starts with file and line.
    """
    source = read_json(path)
    try:
        entry = EvalsEntry.model_validate(source.value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = describe_error(first["type"], first["loc"], first["msg"], first["input"])
        raise error_at(path, source.line_of(first["loc"]), problem) from error
    if not entry.evals:
        problem = "expected at least one eval, found none; add evals"
        raise error_at(path, source.line_of(("evals",)), problem)
    skill = Path(os.path.abspath(path)).parent.parent  # noqa: PTH100 - resolve() would leave a linked skill folder
    tasks = _Reader(source, skill).tasks(entry)
    return Reading("evals.json", entry.skill_name or skill.name, path, tuple((None, task) for task in tasks))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes tasks of the evals of one skill."""

    source: Source
    skill: Path
    contents: dict[str, bytes] = field(default_factory=dict)

    def tasks(self, entry: EvalsEntry) -> tuple[Task, ...]:
        ids: dict[str, int] = {}
        seen: dict[str, int] = {}
        tasks = []
        for at, each in enumerate(entry.evals):
            first = ids.setdefault(each.id, at)
            if first != at:
                raise self._error(
                    at, each, f"expected an id that no other eval has, found that of {self._place(first)}; change one"
                )
            task = self._task(at, each)
            twin = seen.setdefault(task.content_digest, at)
            if twin != at:
                raise self._error(
                    at,
                    each,
                    f"expected another prompt or other files than eval {entry.evals[twin].id!r} has "
                    f"({self._place(twin)}), found the same; remove one, a task may not be seen twice",
                )
            tasks.append(task)
        return tuple(tasks)

    def _task(self, at: int, each: EvalEntry) -> Task:
        found = len(each.criteria)
        if not found:
            problem = (
                "expected `expectations`, `assertions` or `expected_output`, found none; say what a good result is"
            )
            raise self._error(at, each, problem)
        if found > _MOST_CRITERIA:
            problem = f"expected at most {_MOST_CRITERIA} expectations and assertions, found {found}; remove some"
            raise self._error(at, each, problem)
        options: dict[str, object] = {"criteria": each.criteria}
        if each.reference is not None:
            options["reference"] = each.reference
        text = json.dumps(options, sort_keys=True, separators=(",", ":"))
        spec = VerifierSpec("rubric", text)
        try:
            load_verifier(spec)
        except SuiteError as error:
            raise self._error(at, each, str(error)) from error
        return Task(f"eval-{each.id}", each.prompt, spec, self._files(at, each))

    def _files(self, at: int, each: EvalEntry) -> tuple[File, ...]:
        """Read the files of an eval; what stands under `evals/files/` loses this prefix."""
        files: dict[str, File] = {}
        for step, name in enumerate(each.files):
            place = name.removeprefix(_INPUTS)
            if any(place == path or place.startswith(f"{path}/") or path.startswith(f"{place}/") for path in files):
                problem = (
                    f"expected each workspace path once, and no file in place of a folder, found {place!r}; "
                    "remove or rename one"
                )
                raise self._error(at, each, problem, "files", step)
            files[place] = File(place, self._content(at, each, step, name))
        return tuple(files.values())

    def _content(self, at: int, each: EvalEntry, step: int, name: str) -> bytes:
        """Read a file of the skill, each one once."""
        if name not in self.contents:
            place = self.skill / name
            root, real = os.path.realpath(self.skill), os.path.realpath(place)
            if os.path.commonpath((root, real)) != root:
                problem = f"expected a file inside the skill folder, found {name!r} that leads out of it; copy it there"
                raise self._error(at, each, problem, "files", step)
            if real == os.path.realpath(self.source.path):
                problem = f"expected an input file, found {name!r}, which contains the criteria; remove it"
                raise self._error(at, each, problem, "files", step)
            try:
                if not Path(real).is_file():
                    problem = f"expected a file {name!r} in the skill folder, found none; add it or correct the path"
                    raise self._error(at, each, problem, "files", step)
                self.contents[name] = Path(real).read_bytes()
            except OSError as error:
                problem = f"expected a readable file {name!r}, found: {error.strerror}; correct its name or permissions"
                raise self._error(at, each, problem, "files", step) from error
        return self.contents[name]

    def _error(self, at: int, each: EvalEntry, problem: str, *steps: str | int) -> SuiteError:
        line = self.source.line_of(("evals", at, *steps))
        return error_at(self.source.path, line, f"eval {each.id!r}: {problem}")

    def _place(self, at: int) -> str:
        return f"{self.source.path}:{self.source.line_of(('evals', at))}"
