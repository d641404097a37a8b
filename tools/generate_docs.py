"""Generate the reference pages that must not drift from the code; `--check` only compares.

python -m tools.generate_docs            write settings.md, commands.md and the generated parts of other pages in docs/
python -m tools.generate_docs --check    exit 1 when a page is out of date; with names of pages, one of these
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperGroup

from skillopt.agent_table import AgentTable
from skillopt.commands.app import COMMANDS, load_command
from skillopt.gate.gate import HERE_ROUNDS
from skillopt.settings import PRESETS, NightlySettings, Preset, PresetConstants, Settings
from tools.power_table import gate_power

CHECKOUT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = CHECKOUT / "docs"
_TASKS: Final = (2, 4, 5, 8, 12, 20, 40)
_SHARES: Final = (2, 4, 6, 10)
_TENTHS: Final = 10
_FEW_TASKS: Final = re.compile(r"(?<=<!-- few tasks -->\n).*?(?=<!-- end of few tasks -->)", re.DOTALL)
_AROUND: Final = ("benchmarks", "tools", "tests")
_MARKED: Final = re.compile(r"(?<=<!-- packages -->\n).*?(?=<!-- end of packages -->)", re.DOTALL)
_SIGNS: Mapping[type, str] = {Ge: "≥", Gt: ">", Le: "≤", Lt: "<"}


def settings_page() -> str:
    """Render the settings reference from the declarations."""
    top = set(Settings.model_fields) - {"nightly", "agents"}
    return "\n".join(
        [
            "# Settings",
            "",
            "Generated from `skillopt/settings.py` by `make docs`. Order of precedence: defaults < preset <",
            "`skillopt.toml` < the skill's table there (`[skills.NAME]`, where every setting may stand by its name) <",
            "`SKILLOPT_<NAME>` < command line (`--set NAME=VALUE`, or a flag). An unknown name is refused.",
            "A cap has no default: where it is left out there is none, and 0 is refused.",
            *_section("Settings of a run", "At the top of `skillopt.toml`, before every `[table]`.", Settings, top),
            *_section("[nightly]", "What `skillopt nightly` does beside training.", NightlySettings),
            "",
            "## [agents.NAME]",
            "",
            "An agent that is [run by its command line](agents-and-sandbox.md#any-agent-with-a-command-line).",
            "",
            "| field | meaning |",
            "|---|---|",
            *(row for name, field in AgentTable.model_fields.items() for row in _field_rows(name, field)),
            "",
        ]
    )


def _section(title: str, text: str, model: type[BaseModel], names: Collection[str] | None = None) -> list[str]:
    """Render a table of settings, all of a model or some."""
    named = {name: field for name, field in model.model_fields.items() if name not in PresetConstants.model_fields}
    rows = [_row(name, field) for name, field in named.items() if names is None or name in names]
    head = ["| setting | default | `paper` | bounds | meaning |", "|---|---|---|---|---|"]
    return ["", f"## {title}", "", text, "", *head, *rows]


def _row(name: str, field: FieldInfo) -> str:
    paper = PRESETS[Preset.PAPER]
    bounds = ", ".join(
        f"{sign} {getattr(mark, type(mark).__name__.lower())}"
        for mark in field.metadata
        for kind, sign in _SIGNS.items()
        if isinstance(mark, kind)
    )
    if isinstance(field.annotation, type) and issubclass(field.annotation, Enum):
        bounds = ", ".join(f"`{member.value}`" for member in field.annotation)
    if get_origin(field.annotation) is Literal:
        bounds = ", ".join(f"`{choice}`" for choice in get_args(field.annotation))
    own = _shown(paper[name]) if name in paper else ""
    return f"| `{name}` | {_shown(field.default)} | {own} | {bounds} | {field.description} |"


_PRINT_HELPS: Final = """
import sys
from skillopt.commands.app import app
for command in sys.stdin.read().split("\\n"):
    app([*command.split(), "--help"], prog_name="skillopt", standalone_mode=False)
    print(end="\\0")
"""


def commands_page() -> str:
    """Render every command's `--help`."""
    lines = ["# Commands", "", "Generated from `skillopt --help` by `make docs`."]
    names = [(name, load_command(name)) for heading in COMMANDS.values() for name in heading]
    groups = [(name, each) for name, found in names if isinstance(found, TyperGroup) for each in found.commands]
    commands = [(), *((name,) for name, found in names if not isinstance(found, TyperGroup)), *groups]
    for command, text in zip(commands, _helps(commands), strict=True):
        title = " ".join(("skillopt", *command))
        lines += ["", f"## `{title}`", "", "```text", text, "```"]
    return "\n".join(lines) + "\n"


def few_tasks_page() -> str:
    """Put the simulated chances between their marks in the page on few tasks."""
    return _between(_FEW_TASKS, "statistics.md", few_tasks_table())


def few_tasks_table() -> str:
    """Simulate the power of the gate for drafts that fix a share of the tasks, by number of tasks."""
    heads = [f"fixes {share}0%" if share < _TENTHS else "fixes all" for share in _SHARES]
    rows = [" | ".join(["tasks", *heads]), " | ".join(["---"] * (1 + len(heads)))]
    for tasks in _TASKS:
        cells = []
        for share in _SHARES:
            rates = [([0.1], [0.9])] * share + [([0.1], [0.1])] * (_TENTHS - share)
            power = gate_power(partial(Random.choice, seq=rates), tasks, HERE_ROUNDS, runs=200)
            cells.append(f"{power.proven:.0%}, {power.here:.0%}")
        rows.append(" | ".join([str(tasks), *cells]))
    return "\n".join(f"| {row} |" for row in rows) + "\n"


def architecture_page() -> str:
    """Put the tree of packages, layer by layer, between its marks in the page on the architecture."""
    return _between(_MARKED, "architecture.md", package_tree())


def _field_rows(name: str, field: FieldInfo) -> list[str]:
    """Render a field, and those of the table that it is."""
    rows = [f"| `{name}` | {field.description} |"]
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            rows += [f"| `{name}.{inner}` | {one.description} |" for inner, one in kind.model_fields.items()]
    return rows


def _between(marks: re.Pattern[str], name: str, text: str) -> str:
    page = (DOCS / name).read_text(encoding="utf-8")
    shown, found = marks.subn(lambda _: text, page)
    if found != 1:
        sys.exit(f"docs/{name}: expected the marks of one generated table, found {found}; put them back")
    return shown


def package_tree() -> str:
    """List every package and top-level module with the first sentence of its docstring, highest layer first."""
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (contract["layers"] for contract in contracts["contracts"] if contract.get("id") == "layers")
    front = [_tree_row("", CHECKOUT / "mcp_server" / "skillopt_mcp"), _tree_row("", CHECKOUT / "skillopt")]
    inside = [
        _tree_row(str(number), CHECKOUT / "skillopt" / name)
        for number, layer in zip(range(len(layers), 0, -1), layers, strict=True)
        for name in layer.split(" | ")
    ]
    around = [_tree_row("", CHECKOUT / name) for name in _AROUND]
    heads = ["| layer | package or module | what lives there |", "|---|---|---|"]
    return "\n".join([*heads, *front, *inside, *around]) + "\n"


def _tree_row(layer: str, path: Path) -> str:
    package = path.is_dir()
    source = path / "__init__.py" if package else path.with_suffix(".py")
    shown = f"{path.relative_to(CHECKOUT).as_posix()}/" if package else source.relative_to(CHECKOUT).as_posix()
    return f"| {layer} | [`{shown}`](../{shown}) | {first_sentence(source)} |"


def first_sentence(source: Path) -> str:
    """Return the first sentence of a module's docstring on one line."""
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    found = re.match(r".+?\.(?=\s|\Z)", " ".join(text.split()))
    if found is None:
        sys.exit(
            f"{source}: expected a docstring that begins with a sentence, found {text[:60]!r}; say what lives there"
        )
    return found[0]


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Enum):
        return f"`{value.value}`"
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value)) or "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _helps(commands: Sequence[tuple[str, ...]]) -> list[str]:
    """Print the help of every command in one process of its own, whose terminal is plain and 100 columns wide."""
    plain = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "TERMINAL_WIDTH": "100"}
    wanted = "\n".join(" ".join(command) for command in commands)
    arguments = [sys.executable, "-c", _PRINT_HELPS]
    ended = subprocess.run(arguments, input=wanted, capture_output=True, text=True, check=True, env=plain)
    texts = ended.stdout.split("\0")[:-1]
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts]


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "architecture.md": architecture_page,
    "statistics.md": few_tasks_page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them: all, or those that are named."""
    wanted = [name for name in arguments if name in PAGES] or PAGES
    return write_pages(DOCS, ((name, PAGES[name]()) for name in wanted), check="--check" in arguments)


def write_pages(folder: Path, pages: Iterable[tuple[str, str]], *, check: bool) -> int:
    """Write pages that changed, or only name them; 1 when one is out of date."""
    stale = []
    for name, page in pages:
        path = folder / name
        if path.exists() and path.read_text(encoding="utf-8") == page:
            continue
        if check:
            stale.append(name)
        else:
            path.write_text(page, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
