"""Check the house rules that no linter knows, and print one line for each place that breaks one.

    python -m tools.check_house_rules [FOLDER ...]

- A module has at most 600 lines, and a name that says what it is about (not `utils`).
- `__all__` lists exactly the public names that a module defines, each once. Its order is ruff's (RUF022).
- No public name of the product is defined in two modules.
- Benchmarks import no tests, and tests outside `tests/benchmarks` import no benchmarks but the demo.
- `noqa`, `type: ignore` and `pragma: no cover` say why; the first two name their code.
- One `except Exception` in `commands/entry.py`; any other says why on its line, or ends by raising again.
- No comment leaves work for later.
- Each package stays within its budget of lines, and so do the product, the tests, and benchmarks with tools.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Finding", "check_budgets", "check_folder", "check_names", "check_source", "main"]

_FOLDERS = ("skillopt", "mcp_server", "benchmarks", "tests", "tools")
_MOST_LINES = 600
_BUDGETS = {
    "skillopt mcp_server": 60_976,  # to reach: 51,000
    "tests": 42_303,  # to reach: 36,000
    "benchmarks tools": 13_818,  # published benchmarks included
    "benchmarks/published": 2_505,
    "skillopt/commands": 7_030,  # to reach: 6,200
    "skillopt/loop": 4_433,  # to reach: 3,200
    "skillopt/gate": 2_177,  # to reach: 1,600
    "skillopt/prompts": 1_649,
    "skillopt/skills": 2_313,  # to reach: 2,000
    "skillopt/safety": 2_328,  # to reach: 1,700
    "skillopt/suites": 3_676,  # to reach: 3,000
    "skillopt/verifiers": 2_156,  # to reach: 2,100
    "skillopt/targets": 3_474,
    "skillopt/sandbox": 1_895,
    "skillopt/execution": 2_904,  # to reach: 2,300
    "skillopt/storage": 1_369,
    "skillopt/versions": 2_517,  # to reach: 2,100
    "skillopt/runs": 2_791,  # to reach: 1,700
    "skillopt/reports": 3_359,  # to reach: 3,000
    "skillopt/review": 1_216,  # to reach: 1,300
    "skillopt/nightly": 3_783,
    "skillopt/triggers": 1_768,  # to reach: 1,400
    "skillopt/harvest": 2_078,
    "skillopt/audit": 451,
    "skillopt/forecast": 785,  # to reach: 700
    "mcp_server": 2_053,
}
"""Most lines of `*.py` below the folders: the budget, or the size today, which only falls, where that is larger."""
_VAGUE = frozenset({"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"})
_TYPE_MAKERS = frozenset({"NewType", "ParamSpec", "TypeVar", "TypeVarTuple"})
_BROAD = frozenset({"Exception", "BaseException"})
_PRODUCT = ("skillopt", "mcp_server")
_FRONT_END = "entry.py"
_ENTRY_POINT = "main"
_COMMAND_LINE = "commands"
_API = "api.py"
_LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
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


def check_source(path: Path, source: str) -> list[Finding]:
    """Check one module."""
    tree = ast.parse(source, filename=str(path))
    comments = _comments(source)
    found = [
        *_check_size(source),
        *_check_name(path),
        *_check_all(path, tree),
        *_check_imports(path, tree),
        *_check_comments(comments),
        *_check_excepts(path, tree, {line for line, _ in comments}),
    ]
    return sorted(Finding(path.as_posix(), line, message) for line, message in found)


def check_folder(root: Path, folder: str) -> list[Finding]:
    """Check every module below a folder of the repository; a folder that is not there has none."""
    paths = sorted((root / folder).rglob("*.py"))
    return [
        finding for path in paths for finding in check_source(path.relative_to(root), path.read_text(encoding="utf-8"))
    ]


def check_names(root: Path, folders: Sequence[str] = _PRODUCT) -> list[Finding]:
    """Check that no public name is defined in two modules.

    `main` is free, as every program has one, and so are the commands in `commands/` and the verbs of the Python API,
    which are called as what they run.
    """
    places: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        if path.parent.name == _COMMAND_LINE or path.name == _API:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        defined, (_, listed) = dict(_defined(tree)), _listed(tree) or (0, [])
        for name in sorted(defined.keys() & set(listed) - {_ENTRY_POINT}):
            places[name].append((path.relative_to(root).as_posix(), defined[name]))
    return sorted(
        Finding(path, line, f"expected a public name of its own, found {name!r}, which {found[0][0]} defines too")
        for name, found in places.items()
        for path, line in found[1:]
    )


def check_budgets(root: Path, budgets: Mapping[str, int] = _BUDGETS) -> list[Finding]:
    """Check that no folder, or sum of folders, has more lines of Python than its budget."""
    counts = {
        folders: sum(
            path.read_bytes().count(b"\n") for folder in folders.split() for path in (root / folder).rglob("*.py")
        )
        for folders in budgets
    }
    return [
        Finding(folders, 1, f"expected at most {budgets[folders]:,} lines of Python, found {count:,}: delete some")
        for folders, count in counts.items()
        if count > budgets[folders]
    ]


def main(arguments: Sequence[str] = ()) -> int:
    """Check the given folders, or all of them; 1 when a rule is broken."""
    root = Path(__file__).resolve().parent.parent
    findings = [finding for folder in arguments or _FOLDERS for finding in check_folder(root, folder)]
    findings += [] if arguments else [*check_names(root), *check_budgets(root)]
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


def _check_all(path: Path, tree: ast.Module) -> _Found:
    listed = _listed(tree)
    defined = dict(_defined(tree))
    if listed is None:
        if path.parts[0] in _PRODUCT and any(not name.startswith("_") for name in defined):
            yield 1, "expected `__all__`, a literal list of the public names, found none"
        return
    line, names = listed
    reachable = defined.keys() | (_imported(tree) if path.stem == "__init__" else set())
    dunders = {name for name in names if name.startswith("__")}
    for name in sorted(defined.keys() - set(names)):
        if not name.startswith("_"):
            yield defined[name], f"expected {name!r} in `__all__`, or a leading underscore"
    for name in sorted(set(names) - reachable - dunders):
        yield line, f"expected only names defined here in `__all__`, found {name!r}"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield line, f"expected each name once in `__all__`, found {name!r} again"


def _check_imports(path: Path, tree: ast.Module) -> _Found:
    foreign = {"benchmarks": "tests", "tests": "benchmarks"}.get(path.parts[0])
    if foreign is None or path.parts[:2] == ("tests", "benchmarks"):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case _:
                continue
        modules = [module for module in modules if not f"{module}.".startswith("benchmarks.demo.")]
        if any(module.partition(".")[0] == foreign for module in modules):
            yield node.lineno, f"expected {path.parts[0]} not to import {foreign}; move what both need to tools/"


def _listed(tree: ast.Module) -> tuple[int, list[str]] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
            names: list[str] = ast.literal_eval(node.value)
            return node.lineno, names
    return None


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


def _imported(tree: ast.Module) -> set[str]:
    typed = (node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    nodes = [*tree.body, *(node for body in typed for node in body)]
    imports = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return {alias.asname or alias.name for node in imports for alias in node.names}


def _check_comments(comments: Iterable[tuple[int, str]]) -> _Found:
    for line, comment in comments:
        later = _LATER.search(comment)
        if later is not None:
            yield line, f"expected work to be done or to be an issue, found {later[0]}"
        for mark, whole, message in _MARKED:
            if mark.search(comment) and not whole.search(comment):
                yield line, message


def _check_excepts(path: Path, tree: ast.Module, commented: set[int]) -> _Found:
    if path.parts[0] not in _PRODUCT:
        return
    free = 1 if path.name == _FRONT_END else 0
    for handler in (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)):
        if not _is_broad(handler.type) or isinstance(handler.body[-1], ast.Raise):
            continue
        if free:
            free -= 1
        elif path.name == _FRONT_END:
            yield handler.lineno, "expected one broad `except` in a front end, found another"
        elif handler.lineno not in commented:
            yield handler.lineno, "expected a narrow `except`, or a comment on its line that says why it is broad"


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
