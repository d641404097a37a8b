"""Verifier `file`: a file is in the workspace, or is not, or holds a pattern."""

import os
import re
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.sandbox.workspace import Unreadable, changed_files, read_workspace_file
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import FileName, StrictOptions, failed, quote_json, read_options
from skillopt.verifiers.pattern_search import LONGEST_PATTERN, compile_pattern, fits_path, search_pattern

_MOST_FILES: Final = 1_000  # files that are looked into, of a pattern that fits everything
_WILD: Final = re.compile(r"[*?\[]")


class FileOptions(StrictOptions):
    """Options of the verifier `file`."""

    path: Annotated[
        FileName,
        Field(description="Workspace file; `*`, `?` and `[...]` stand for parts of a name, `**` for any folders."),
    ]
    exists: Annotated[bool, Field(description="Whether there must be such a file, or must be none.")] = True
    written: Annotated[bool, Field(description="Count only files that the target wrote.")] = False
    pattern: Annotated[
        str | None,
        Field(
            description="Pattern in Python's syntax that is found in one of the files.",
            min_length=1,
            max_length=LONGEST_PATTERN,
        ),
    ] = None
    ignore_case: Annotated[bool, Field(description="Match without regard to case.")] = False
    absent: Annotated[bool, Field(description="Pass when no file holds the pattern.")] = False
    time_limit: Annotated[float, Field(description="Seconds the search of one file may take.", gt=0, le=60)] = 5.0


class FileVerifier:
    """Scores 1 when the file is as it should be, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        options = self._options = read_options(FileOptions, spec)
        if options.pattern is not None and not options.exists:
            raise SuiteError("verifier 'file': expected no 'pattern' with 'exists: false'; remove one")
        if options.pattern is None and options.absent:
            raise SuiteError("verifier 'file': expected 'pattern' with 'absent'; add one")
        flags = re.IGNORECASE if options.ignore_case else re.NOFLAG
        self._pattern = None if options.pattern is None else compile_pattern("file", options.pattern, flags)

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Look for the file, and in it."""
        name = self._options.path
        found = list(islice(self._found(trajectory, workspace), _MOST_FILES + 1))
        if not self._options.exists:
            return failed(f"{found[0]}: expected no such file, found one") if found else Score(1.0, passed=True)
        if not found:
            # A pattern of paths that fits no file names none that holds it.
            is_held = not (self._options.absent and _WILD.search(name))
            return failed(f"{name}: missing") if is_held else Score(1.0, passed=True)
        if self._pattern is None:
            return Score(1.0, passed=True)
        if len(found) > _MOST_FILES:
            return failed(f"{name}: expected at most {_MOST_FILES:,} such files to look into, found more")
        problem = self._problem_of_all(found, workspace, self._pattern)
        return failed(problem) if problem else Score(1.0, passed=True)

    def _found(self, trajectory: Trajectory, workspace: str) -> Iterator[str]:
        path = self._options.path
        names = changed_files(workspace, ()) if _WILD.search(path) else (path,)
        root = os.path.realpath(workspace)
        for name in names:
            if self._options.written and name not in trajectory.files_changed:
                continue
            place = Path(root, name)
            if fits_path(name, path) and os.path.realpath(place) == str(place) and place.is_file():
                yield name

    def _problem_of_all(self, paths: list[str], workspace: str, pattern: re.Pattern[str]) -> str:
        """Return what is wrong with what files hold; what must be absent is absent from all, else it is in one."""
        # All files together may take as long as fifty of them.
        end, first = time.monotonic() + 50 * self._options.time_limit, ""
        for number, path in enumerate(paths):
            if number and time.monotonic() > end:
                return f"the search of {len(paths)} files took too long, after {number} of them"
            problem = self._problem(path, workspace, pattern)
            if bool(problem) is self._options.absent:
                return problem
            first = first or problem
        return first

    def _problem(self, path: str, workspace: str, pattern: re.Pattern[str]) -> str:
        """Return what is wrong with what a file holds; empty when nothing is."""
        content = read_workspace_file(workspace, path, 1_000_000)
        if isinstance(content, Unreadable):
            return f"{path}: {content.reason}"
        asked = quote_json(self._options.pattern)
        found = search_pattern(pattern, content.decode("utf-8", "replace"), self._options.time_limit)
        if found is None:
            return f"{path}: the search for {asked} took more than {self._options.time_limit:g} s"
        if found is self._options.absent:
            return f"{path}: expected {'no ' if self._options.absent else ''}{asked}, found {'it' if found else 'none'}"
        return ""
