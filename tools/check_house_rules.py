"""Check the house rules that no linter knows, and print one line for each place that breaks one.

    python -m tools.check_house_rules [FOLDER ...]

- A module has at most 600 lines, and a name that says what it is about (not `utils`).
- No public name of the product is defined in two modules.
- Benchmarks import no tests, and tests outside `tests/benchmarks` import no benchmarks but the demo.
- `noqa`, `type: ignore` and `pragma: no cover` say why; the first two name their code.
- One `except Exception` in `commands/entry.py`; any other says why on its line, or ends by raising again.
- No comment leaves work for later.
- No call of the product has six or more positional arguments, but for functions that take any number of words.
- The core and `skillopt/contrib` each have at most so many lines; both are printed.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_FOLDERS = ("skillopt", "mcp_server", "benchmarks", "tests", "tools")
_MOST_LINES = 600
_CONTRIB = "skillopt/contrib/"
_MOST = {"core": 42_695, "contrib": 7_500}
"""Most lines of `*.py` of the two kinds of code; a number changes only with an issue."""
_MOST_POSITIONAL = 5
_VARIADIC = frozenset({"digest_of", "people_commits", "run_git"})
"""Functions that take any number of words of one kind."""
_VAGUE = frozenset({"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"})
_TYPE_MAKERS = frozenset({"NewType", "ParamSpec", "TypeVar", "TypeVarTuple"})
_BROAD = frozenset({"Exception", "BaseException"})
_PRODUCT = ("skillopt", "mcp_server")
_FRONT_END = "entry.py"
_ENTRY_POINT = "main"
_COMMAND_LINE = "commands"
_API = "api.py"
_LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
_MARK = re.compile(rf"#.*(?:noqa|type:|pragma|{_LATER.pattern})|except.*#", re.IGNORECASE)
"""Reading comments takes most of the time, and most modules have none that a rule is about."""
_BROAD_EXCEPT = re.compile(r"\bexcept\b(?:.*Exception|\s*:)")
_IMPORT = re.compile(r"\s*(?:from|import) (\w+)")
_REASON = r"\s*(?:-|#)\s*\S+\s+\S+"
_NOQA = re.compile(r"#\s*noqa\b", re.IGNORECASE)
_NOQA_WHOLE = re.compile(r"#\s*noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*" + _REASON, re.IGNORECASE)
_IGNORE = re.compile(r"#\s*type:\s*ignore\b")
_IGNORE_WHOLE = re.compile(r"#\s*type:\s*ignore\[[\w, -]+\]" + _REASON)
_PRAGMA = re.compile(r"#\s*pragma:\s*no (?:cover|branch)\b")
_PRAGMA_WHOLE = re.compile(r"#\s*pragma:\s*no (?:cover|branch)" + _REASON)
_MARKED = (
    (_NOQA, _NOQA_WHOLE, "`noqa` needs its code and a reason: `# noqa: E501 - why it stays`"),
    (_IGNORE, _IGNORE_WHOLE, "`type: ignore` needs its code and a reason: `# type: ignore[code]  # why it stays`"),
    (_PRAGMA, _PRAGMA_WHOLE, "`pragma: no cover` needs a reason: `# pragma: no cover - why it stays`"),
)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A broken rule and where."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        """Write it the way editors and CI read it."""
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Module:
    """A file of Python below the root, parsed once, and only where a rule asks for it."""

    path: Path
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """The module as Python reads it."""
        return ast.parse(self.source, filename=str(self.path))


def read_modules(root: Path, folder: str) -> list[Module]:
    """Read every module below a folder of the repository; a folder that is not there has none."""
    paths = sorted((root / folder).rglob("*.py"))
    return [Module(path.relative_to(root), path.read_text(encoding="utf-8")) for path in paths]


def check_module(module: Module) -> list[Finding]:
    """Check one module."""
    comments = _comments(module.source) if _MARK.search(module.source) else []
    found = [
        *_check_size(module.source),
        *_check_name(module.path),
        *_check_imports(module),
        *_check_comments(comments),
        *_check_excepts(module, {line for line, _ in comments}),
        *_check_calls(module),
    ]
    return sorted(Finding(module.path.as_posix(), line, message) for line, message in found)


def check_names(modules: Iterable[Module]) -> list[Finding]:
    """Check that no public name is defined in two modules.

    `main` is free, as every program has one, and so are the commands in `commands/` and the verbs of the Python API,
    which are called as what they run.
    """
    places: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for module in modules:
        if module.path.parts[0] not in _PRODUCT or module.path.parent.name == _COMMAND_LINE or module.path.name == _API:
            continue
        for name, line in sorted(set(_defined(module.tree))):
            if not name.startswith("_") and name != _ENTRY_POINT:
                places[name].append((module.path.as_posix(), line))
    return sorted(
        Finding(path, line, f"expected a public name of its own, found {name!r}, which {found[0][0]} defines too")
        for name, found in places.items()
        for path, line in found[1:]
        if path != found[0][0]
    )


def count_lines(modules: Iterable[Module]) -> dict[str, int]:
    """Count the lines of the core and of what the core works without."""
    counts = dict.fromkeys(_MOST, 0)
    for module in modules:
        if module.path.parts[0] in _PRODUCT:
            kind = "contrib" if module.path.as_posix().startswith(_CONTRIB) else "core"
            counts[kind] += module.source.count("\n")
    return counts


def check_lines(counts: Mapping[str, int]) -> list[Finding]:
    """Check that neither kind of code has more lines than it may."""
    return [
        Finding(kind, 1, f"expected at most {_MOST[kind]:,} lines of Python, found {count:,}: delete some")
        for kind, count in counts.items()
        if count > _MOST[kind]
    ]


def main(arguments: Sequence[str] = ()) -> int:
    """Check the given folders, or all of them; 1 when a rule is broken."""
    root = Path(__file__).resolve().parent.parent
    modules = [module for folder in arguments or _FOLDERS for module in read_modules(root, folder)]
    findings = [finding for module in modules for finding in check_module(module)]
    if not arguments:
        counts = count_lines(modules)
        findings += [*check_names(modules), *check_lines(counts)]
        print(", ".join(f"{kind} {count:,} of at most {_MOST[kind]:,} lines" for kind, count in counts.items()))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


_Found = Iterator[tuple[int, str]]


def _comments(source: str) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def _check_size(source: str) -> _Found:
    lines = len(source.splitlines())
    if lines > _MOST_LINES:
        yield _MOST_LINES + 1, f"expected at most {_MOST_LINES} lines, found {lines}: split it by idea"


def _check_name(path: Path) -> _Found:
    for part in (*path.parts[:-1], path.stem):
        vague = sorted(_VAGUE.intersection(part.split("_")))
        if vague:
            yield 1, f"expected a name that says what it is about, found {vague[0]!r} in {part!r}"


def _check_imports(module: Module) -> _Found:
    path = module.path
    foreign = {"benchmarks": "tests", "tests": "benchmarks"}.get(path.parts[0])
    if foreign is None or path.parts[:2] == ("tests", "benchmarks"):
        return
    for number, line in enumerate(module.source.splitlines(), start=1):
        imported = _IMPORT.match(line)
        if imported and imported[1] == foreign and not line.strip().startswith("from benchmarks.demo."):
            yield number, f"expected {path.parts[0]} not to import {foreign}; move what both need to tools/"


def _defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        match node:
            case ast.FunctionDef(decorator_list=decorators) if any(map(_registers, decorators)):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, node.lineno
            case ast.Assign(targets=targets, value=value) if not _makes_type(value):
                yield from ((to.id, node.lineno) for to in targets if isinstance(to, ast.Name) and to.id != "__all__")
            case _:
                pass


def _registers(decorator: ast.expr) -> bool:
    """Return whether a decorator makes a command of a function, whose name is then the user's."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="command" | "callback")):
            return True
        case _:
            return False


def _makes_type(value: ast.expr) -> bool:
    """Return whether a value is a TypeVar or its like, which is nobody's public name."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _TYPE_MAKERS


def _check_comments(comments: Iterable[tuple[int, str]]) -> _Found:
    for line, comment in comments:
        later = _LATER.search(comment)
        if later is not None:
            yield line, f"expected work to be done or to be an issue, found {later[0]}"
        for mark, whole, message in _MARKED:
            if mark.search(comment) and not whole.search(comment):
                yield line, message


def _check_excepts(module: Module, commented: set[int]) -> _Found:
    if module.path.parts[0] not in _PRODUCT or not _BROAD_EXCEPT.search(module.source):
        return
    free = 1 if module.path.name == _FRONT_END else 0
    for handler in (node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler)):
        if not _is_broad(handler.type) or isinstance(handler.body[-1], ast.Raise):
            continue
        if free:
            free -= 1
        elif module.path.name == _FRONT_END:
            yield handler.lineno, "expected one broad `except` in a front end, found another"
        elif handler.lineno not in commented:
            yield handler.lineno, "expected a narrow `except`, or a comment on its line that says why it is broad"


def _check_calls(module: Module) -> _Found:
    if module.path.parts[0] not in _PRODUCT:
        return
    for call in (node for node in ast.walk(module.tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if len(call.args) > _MOST_POSITIONAL and name not in _VARIADIC:
            yield (
                call.lineno,
                f"expected at most {_MOST_POSITIONAL} positional arguments, found {len(call.args)}: name them",
            )


def _is_broad(caught: ast.expr | None) -> bool:
    match caught:
        case None:
            return True
        case ast.Tuple(elts=parts):
            return any(_is_broad(part) for part in parts)
        case ast.Name(id=name):
            return name in _BROAD
        case _:
            return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
