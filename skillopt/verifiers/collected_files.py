"""Which of the agent's files a verifier's program gets: those that the suite declares, or that the program names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from skillopt.errors import SuiteError
from skillopt.tasks import File
from skillopt.verifiers.pattern_search import fits_path

_WILD: Final = re.compile(r"[*?\[]")
_SHELL: Final = re.compile(r"(?:^|/)(?:ba|da|z)?sh$|\.(?:sh|bash|mk)$|akefile$")
_DATA: Final = (".csv", ".json", ".md", ".tsv", ".txt", ".xml")
_QUOTED: Final = re.compile(r"""["'`]([^"'`\n]{1,200})["'`]""")
_WORD: Final = re.compile(r"""[^\s"'`;|&<>()=$,:]{1,200}""")
_FILE_NAME: Final = re.compile(r"(?:\./)?((?:[\w+@-][\w.+@ -]*/)*[\w+@][\w+@ -]*(?:\.[\w+-]+)*\.[A-Za-z]\w{0,9})")
_LOADS: Final = re.compile(
    r"\b(?:require|import)\s*\(|\bfrom\s+[\"']|(?:^|\s)[#-]?include\s"
    r"|(?:^|[;&|({]|\bthen|\bdo)\s*(?:\.|source|eval|exec)\s"
    r"|\b(?:python[\d.]*|sys\.executable|execPath|node|deno|bun|bash|sh|ruby|perl|php|java|make|pytest|unittest)\b"
    r"|\b(?:sqlite3|psql|mysql|bc)\b[^|;]*<"
)
"""A line that executes what it names, in any language."""

_IMPORTED: Final = re.compile(r"(?:^|[;:\"'])\s*(?:from\s+([\w.]+)\s+import|import\s+([\w., ]+))")
_STARTS: Final = r"\b(?:run|call|popen|Popen|system|exec\w*|spawn\w*|check_\w+)\(\s*[\[(]?\s*f?[\"'](?:\./)?"
_DECODES: Final = re.compile(
    r"\b(?:pickle|marshal|shelve|dill|joblib|doctest|runpy|importlib|yaml\.(?:unsafe_)?load|torch\.load|sys\.path)\b"
    r"|checkpoint-action|\b(?:exec|eval)\("
)
_CONFIGURED: Final = re.compile(
    r"\b(?:ruff|mypy|pylint|flake8|black|eslint|prettier|tsc|jest|npm|cargo|go|mvn|gradle|dotnet|pytest|tox|rubocop)\b"
)
"""What executes data wherever its name stands, and tools that look for configuration in the folders that they read."""

_UNPACKS: Final = re.compile(
    r"(?<![\w./-])(?:(?:bsd)?tar|unzip|7z|cpio|git\s+(?:clone|apply|am)|patch)(?=\s)|\b(?:unpack_archive|extractall)(?=\()"
    r"|[\"']git[\"'],\s*[\"'](?:clone|apply|am)(?=[\"'])|(?<=[\"'])(?:(?:bsd)?tar|unzip|7z|cpio|patch)(?=[\"'])"
)
"""What makes files of what the agent left, in a shell or in a list of words."""

_MODULES: Final = (".py", ".pyc", ".so", ".js", ".mjs", ".cjs", ".ts", ".node", "/**")


@dataclass(frozen=True, slots=True)
class CollectedFiles:
    """Tells where in a workspace the files lie that the verifier's program gets, and of each path there if it does.

    A pattern takes no name that begins with `.` or `-` and nothing from a folder in which files of the verifier lie.
    """

    names: frozenset[str]
    patterns: tuple[tuple[str, str], ...]
    kept: frozenset[str]

    @staticmethod
    def of(
        declared: Iterable[str], own: Sequence[File], reserved: Iterable[str], *, anywhere: bool
    ) -> "CollectedFiles":
        """Read what a suite declares: names, folders (`out/`) and patterns, these in a folder unless `anywhere`."""
        wanted = [f"{each}**" if each.endswith("/") else each for each in declared]
        patterns = tuple((_WILD.split(each)[0].rpartition("/")[0], each) for each in wanted if _WILD.search(each))
        kept = {file.path.rpartition("/")[0] for file in own} - {""}
        for folder, pattern in () if anywhere else patterns:
            if not folder or any(f"{file.path}/".startswith(f"{folder}/") for file in own):
                wanted_here = "collect: expected names of files, or a folder with none of the verifier's"
                raise SuiteError(
                    f"verifier 'command': {wanted_here}, found {pattern!r}; name them, or add `runs: agent`"
                )
        names = frozenset(each for each in wanted if not _WILD.search(each)) - set(reserved)
        return CollectedFiles(names, patterns, frozenset(kept.union(reserved)))

    @property
    def starts(self) -> tuple[str, ...]:
        """The names, and the folders (`out/`, all of it ``) from which on patterns are looked for."""
        return (*sorted(self.names), *(f"{folder}/".lstrip("/") for folder, _ in self.patterns))

    def takes(self, path: str) -> bool:
        """Return whether a file is taken, or whether a folder, which ends with `/`, can hold one that is."""
        if path in self.names:
            return True
        whole = not path.endswith("/")
        return any(self._fits(path.rstrip("/"), *each, whole=whole) for each in self.patterns)

    def _fits(self, path: str, folder: str, pattern: str, *, whole: bool) -> bool:
        """Return whether a path fits a pattern, or, if not `whole`, lies where paths that fit it can lie."""
        if folder and not path.startswith(f"{folder}/"):
            return False
        parts = path[len(folder) + 1 if folder else 0 :].split("/")
        if not all(part.isprintable() and part[0] not in ".-" for part in parts):
            return False
        # Of `.git` a pattern takes commits. Everything else there can start programs.
        if folder.endswith(".git") and parts[0] not in ("HEAD", "index", "objects", "packed-refs", "refs"):
            return False
        if not self.kept.isdisjoint(accumulate(path.split("/"), "{}/{}".format)):
            return False
        if not whole:
            return "**" in pattern or path.count("/") < pattern.count("/")
        return pattern == f"{folder}/**".lstrip("/") or fits_path(path, pattern)


def named_files(argv: Sequence[str], own: Sequence[File]) -> tuple[str, ...]:
    """List the files that a program names as strings, or as words of a shell, and that are none of its own."""
    texts = [(word, bool(_SHELL.search(argv[0])) or " " not in word) for word in argv]
    texts += ((file.text, bool(_SHELL.search(file.path))) for file in own)
    words = (word for text, bare in texts for word in (_QUOTED.findall(text) + (_WORD.findall(text) if bare else [])))
    found = (_FILE_NAME.fullmatch(word.strip()) for word in words)
    mine = {file.path for file in own}
    return tuple(dict.fromkeys(each[1] for each in found if each and each[1] not in mine and ".." not in each[1]))


def executed_names(collected: Sequence[str], argv: Sequence[str], own: Sequence[File]) -> tuple[str, ...]:
    """List what of the collected files a program seems to import, source, run or unpack as code."""
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    programs = [f"{argv[0]} {script}", *argv, *(file.text for file in own if not file.path.endswith(_DATA))]
    decoded, configured = (any(map(one.search, programs)) for one in (_DECODES, _CONFIGURED))
    lines = [line for text in programs for line in text.splitlines()]
    told = {each for each in collected if decoded or (configured and each.endswith(("/", "*")))}
    return tuple(each for each in collected if each in told or any(_executes(line, each) for line in lines))


def unpacking_commands(argv: Sequence[str], own: Sequence[File]) -> tuple[str, ...]:
    """List the commands of a program that unpack or apply what the agent left, which may be links."""
    texts = [" ".join(argv), str(list(argv)), *(file.text for file in own if not file.path.endswith(_DATA))]
    found = (match[0] for text in texts for match in _UNPACKS.finditer(text))
    return tuple(dict.fromkeys(" ".join(re.findall(r"\w+", command)) for command in found))


def _executes(line: str, path: str) -> bool:
    """Return whether a line starts or loads a file, or the module in it."""
    whole = path.rstrip("/*")
    module = whole.rpartition("/")[2].partition(".")[0] if path.endswith(_MODULES) else whole
    if any(module in re.split(r"[., ]+", one or other) for one, other in _IMPORTED.findall(line)):
        return True
    names = "|".join(map(re.escape, {whole, module}))
    loaded = _LOADS.search(line) and re.search(rf"(?<![\w.-])(?:\./)?(?:{names})(?![\w-])", line)
    return bool(loaded or re.search(rf"{_STARTS}{re.escape(whole)}\b", line))
