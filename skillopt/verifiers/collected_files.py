"""Which files of a workspace a verifier's program gets to see: results as data, nothing that could change the program.

A program reads more than its arguments: configuration of test runners, modules beside its script, start-up files of
shells. Whoever writes one of those decides what the program does, so an agent's files of these kinds stay behind.
"""

import json
import re
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import Path, PurePosixPath
from pkgutil import iter_modules
from typing import Final

from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers.pattern_search import fits_path

__all__ = ["CODE_ENDINGS", "CollectedFiles", "collected_code", "is_code", "is_configuration", "is_result", "is_source"]

_WILD: Final = re.compile(r"[*?\[]")
_STEERING_GIT: Final = frozenset({"config", "config.worktree", "hooks", "info", "modules", "worktrees", "commondir"})
_PYTHON_IMPORTS: Final = re.compile(
    r"""(?:^|[;:"'(])[ \t]*(?:from[ \t]+(?P<package>[\w.]+)|import[ \t]+(?P<modules>\w[\w., \t]*))""", re.MULTILINE
)
_NAMED_FILES: Final = re.compile(
    r"""(?:import_module|__import__|require|import|from)[ \t]*\(?[ \t]*["'](?P<quoted>[^"'\n]{1,200})["']"""
    r"""|(?:^|[;&|])[ \t]*(?:source|\.)[ \t]+["']?(?P<sourced>[^\s"';&|]{1,200})""",
    re.MULTILINE,
)
_MAKEFILE: Final = re.compile(r"(?:^|/)(?:GNU)?[Mm]akefile$|\.mk$")
_GOALS: Final = re.compile(r"^([^\s:=#][^:=#\n]*):(?!=)", re.MULTILINE)
_TEST_RUNNERS: Final = re.compile(
    r"\b(?:pytest|unittest|nose2?|tox|nox|jest|vitest|mocha|ava|karma|npm|npx|pnpm|yarn|bun|deno|go test|cargo)\b"
    r"|--test\b|node:test|\b(?:rspec|minitest|phpunit|pest|mvn|gradle|gradlew|dotnet|ctest|bats|mix test|prove)\b"
)
_BUILDERS: Final = re.compile(
    r"\b(?:cargo|go (?:test|run|build|vet|install)|mvnw?|gradlew?|dotnet|swift (?:test|run|build)|sbt|stack|cabal|dune"
    r"|zig|mix|bazel|buck2?|pants|rebar3|dart|flutter|cmake|ninja|meson|xcodebuild|nimble|shards|scons|ant)\b"
)
"""Programs that build and run, or load, whatever source code they find."""

_TESTS: Final = re.compile(
    r"^test.*\.py$|_(?:test|spec)\.\w+$|[.-](?:test|spec)\.|^test\.|(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|scala|cs|php|swift)$"
    r"|\.(?:bats|t)$"
)
_OF_FOLDERS: Final = frozenset({"__init__", "__main__"})
_DEEPEST: Final = 64
"""Folders above a file that the program sees; what lies deeper stays behind."""

_LARGEST_READ: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class CollectedFiles:
    """Tells of each path of a workspace whether the verifier's program sees what the agent left there."""

    patterns: tuple[str, ...] | None
    own: frozenset[str]
    modules: frozenset[str]
    goals: frozenset[str]
    runs_tests: bool
    builds: bool
    of_task: frozenset[str]
    reserved: frozenset[str]

    @staticmethod
    def of(
        patterns: tuple[str, ...] | None,
        files: Sequence[File],
        argv: Sequence[str],
        reserved: Iterable[str],
        inputs: Sequence[File] = (),
    ) -> "CollectedFiles":
        """Find out what the program imports and runs, from its files, the task's and its command line."""
        texts = {file.path: file.content[:_LARGEST_READ].decode("utf-8", "replace") for file in files}
        programs = [*(text for path, text in texts.items() if is_code(path)), *argv]
        makefiles = [text for path, text in texts.items() if _MAKEFILE.search(path)]
        started = (*programs, *makefiles, " ".join(argv))
        return CollectedFiles(
            patterns,
            frozenset(texts),
            _installed_modules() | _OF_FOLDERS | _loaded(programs, inputs),
            frozenset(goal for text in makefiles for found in _GOALS.findall(text) for goal in found.split()),
            any(_TEST_RUNNERS.search(text) for text in started),
            any(_BUILDERS.search(text) for text in started),
            frozenset(file.path for file in inputs),
            frozenset(reserved),
        )

    def takes(self, path: str) -> bool:
        """Return whether a path of the workspace is among what the program sees."""
        is_folder = path.endswith("/")
        path = path.rstrip("/")
        if path.count("/") > _DEEPEST:
            return False
        if any(f"{path}/".startswith(f"{each}/") for each in self.reserved):
            return False
        if self.patterns is not None and path in self.patterns:
            return True
        if self.patterns is None:
            return (is_folder or self._is_result(path)) and not self._steers(path)
        fitting = (each for each in self.patterns if _WILD.search(each) and fits_path(path, each))
        return any(not self._steers(path, _literal_parts(each)) for each in fitting)

    def _is_result(self, path: str) -> bool:
        """Return whether a file is one of the task's, or by its name a result; code only where nothing builds it."""
        if self.builds and is_source(path):
            return False
        return path in self.of_task or is_result(path.rpartition("/")[2], with_code=not self.builds)

    def _steers(self, path: str, named: int = 0) -> bool:
        """Return whether a file could change what the program does."""
        parts = path.split("/")
        if any(map(is_configuration, parts[named:])):
            return True
        if ".git" in parts and not _STEERING_GIT.isdisjoint(parts):
            return True
        if path in self.goals or (self.runs_tests and _TESTS.search(parts[-1])):
            return True
        if any(parts[0] == own.split("/", 1)[0] for own in self.own if own.startswith(".") and "/" in own):
            return True
        if "." not in parts[-1] and self._shadows("/".join(parts[:-1]), parts[-1]):
            return True  # Node loads a file without an ending, too.
        return is_code(path) and any(self._shadows("/".join(parts[:at]), part) for at, part in enumerate(parts))

    def _shadows(self, folder: str, name: str) -> bool:
        """Return whether a name in a folder is found in place of a module: where the program lies, and at the top."""
        stem = name.partition(".")[0]
        inner = f"{folder}/" if folder else ""
        beside = [own[len(inner) :].split("/", 1)[0] for own in self.own if own.startswith(inner)]
        if folder and not beside:
            return False
        if stem in self.modules or (folder and stem == "index"):
            return True
        return any(own.partition(".")[0] == stem for own in beside if own != name and (is_code(own) or "." not in own))


def _literal_parts(pattern: str) -> int:
    """Count the folders at the start of a pattern that it names in full."""
    parts = pattern.split("/")
    return next(at for at, part in enumerate(parts) if _WILD.search(part))


def is_code(path: str) -> bool:
    """Return whether a file is one that an interpreter loads by its name."""
    return not CODE_ENDINGS.isdisjoint(PurePosixPath(path.casefold()).suffixes)


def collected_code(verifier: VerifierSpec) -> tuple[str, ...]:
    """List the paths of code that a suite has the programs of a verifier see, as it wrote them."""
    commands = (json.loads(part.options) for part in verifier.parts if part.kind == "command")
    return tuple(path for options in commands for path in options.get("collect") or () if is_code(path) or path == "**")


def _loaded(programs: Iterable[str], inputs: Iterable[File]) -> frozenset[str]:
    """Return the names that programs load, and those that the task's modules of these names load in turn.

    Python's are not looked into: it finds modules of the task as they were written.
    """
    names = {name for text in programs for name in _imported(text)}
    others = [file for file in inputs if is_code(file.path) and not file.path.endswith(".py")]
    while used := [file for file in others if file.path.rpartition("/")[2].partition(".")[0] in names]:
        others = [file for file in others if file not in used]
        names |= {name for file in used for name in _imported(file.content[:_LARGEST_READ].decode("utf-8", "replace"))}
    return frozenset(names)


def _imported(text: str) -> Iterable[str]:
    """Return the names that a program loads: of Python the first part, of others the file's."""
    for found in _PYTHON_IMPORTS.finditer(text):
        names = [found["package"]] if found["package"] else found["modules"].split(",")
        yield from (part.strip().partition(" ")[0].lstrip(".").partition(".")[0] for part in names)
    for found in _NAMED_FILES.finditer(text):
        yield (found["quoted"] or found["sourced"]).rstrip("/").rpartition("/")[2].partition(".")[0]


@lru_cache(maxsize=1)
def _installed_modules() -> frozenset[str]:
    """List what Python itself and the packages beside it are called."""
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return sys.stdlib_module_names | {each.name for each in iter_modules(sorted(places))}


_NAMES: Final = {
    key: tuple(text.split())
    for key, text in tomllib.loads(Path(__file__).with_name("file_names.toml").read_text(encoding="utf-8")).items()
}
CODE_ENDINGS: Final = frozenset(_NAMES["code"])
"""Of files that an interpreter loads by their names."""

_SOURCES: Final = (CODE_ENDINGS | set(_NAMES["built_sources"])) - set(_NAMES["compiled"])
_DATA: Final = frozenset(_NAMES["data"])
_CONFIGURATION_NAME: Final = re.compile("|".join(map(translate, _NAMES["configuration"])))
_TOOL_ENDINGS: Final = ("file", "rc")
_TOOL_NAMES: Final = frozenset({"build", "workspace", "configure", "kbuild", "kconfig", "gradlew", "mvnw", "wscript"})


@lru_cache(maxsize=100_000)
def is_configuration(name: str) -> bool:
    """Return whether tools look for files or folders of a name, to be set up or extended by them.

    >>> [name for name in ("ruff.toml", "Cargo.toml", ".eslintrc", "build.rs", "total.csv") if is_configuration(name)]
    ['ruff.toml', 'Cargo.toml', '.eslintrc', 'build.rs']
    """
    return _CONFIGURATION_NAME.match(name.casefold()) is not None


def is_result(name: str, *, with_code: bool) -> bool:
    """Return whether a file is by its name data, a document, or source code."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return name == name.casefold() and not name.endswith(_TOOL_ENDINGS) and name not in _TOOL_NAMES
    suffix = f".{ending.casefold()}"
    return bool(stem) and (suffix in _DATA or (with_code and suffix in _SOURCES))


def is_source(path: str) -> bool:
    """Return whether a file is by its ending source code of some language."""
    return f".{path.rpartition('.')[2].casefold()}" in _SOURCES
