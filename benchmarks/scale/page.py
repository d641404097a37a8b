"""The page of scale: results of measurements are kept in one file, and docs/scale.md is written from it alone."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from skillopt import __version__

__all__ = [
    "PAGE",
    "RESULTS",
    "TITLES",
    "Part",
    "format_page",
    "machine_note",
    "paragraph",
    "plot_file",
    "read_parts",
    "write_parts",
]

_ROOT: Final = Path(__file__).resolve().parents[2]
_WIDTH: Final = 128
RESULTS: Final = _ROOT / "benchmarks" / "results" / "scale.json"
PAGE: Final = _ROOT / "docs" / "scale.md"

TITLES: Final[Mapping[str, str]] = {
    "threads": "Threads of one machine",
    "scheduling": "Order of rollouts, and hedging of stragglers",
    "overlap": "A whole run with 32 workers",
    "cluster": "Ray on several nodes",
    "month": "A month of nights over 200 skills",
    "library": "Large libraries",
    "capacity": "How far estimates of time and dollars are off",
    "constants": "What one rollout takes of the machine",
    "million": "On paper to 10^6 rollouts a night",
}
"""The measurements in the order of the page; each is a module of this package."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one measurement came to.

    Args:
        circumstances: Machine, versions, command and seconds, in a line.
        result: Its figures.
        markdown: Its text.
        plots: As `benchmarks.scale.plotted.Plot`, as JSON.
    """

    circumstances: str
    result: Mapping[str, Any]
    markdown: str
    plots: tuple[Mapping[str, Any], ...] = ()


def machine_note() -> str:
    """Say on what is measured: system, processors, memory, and how busy it was."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = f"load {os.getloadavg()[0]:.1f} at the start"
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, {load}"
    return f"{system}; Python {platform.python_version()}, skillopt-mcp {__version__}"


def paragraph(*sentences: str) -> str:
    """Join sentences and break them into lines."""
    return fill(" ".join(sentences), _WIDTH, break_long_words=False, break_on_hyphens=False)


def read_parts(file: Path = RESULTS) -> dict[str, Part]:
    """Read the results of measurements by name; none where nothing was measured yet."""
    if not file.exists():
        return {}
    found = json.loads(file.read_text(encoding="utf-8"))
    return {name: Part(**part | {"plots": tuple(part["plots"])}) for name, part in found.items()}


def write_parts(parts: Mapping[str, Part], file: Path = RESULTS) -> None:
    """Write the results of measurements, in the order of the page."""
    ordered = {name: asdict(parts[name]) for name in TITLES if name in parts}
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def plot_file(name: str) -> Path:
    """Give the path of a plot's image."""
    return PAGE.parent / "images" / f"scale-{name}.svg"


def format_page(parts: Mapping[str, Part]) -> str:
    """Write the page.

    Args:
        parts: Results by the measurement's name.
    """
    missing = [name for name in TITLES if name not in parts]
    lines = [
        "# Scale",
        paragraph(
            "Written by `make bench-scale` from `benchmarks/results/scale.json`; do not edit.",
            "Every part says on what it was measured; `python -m benchmarks.scale NAME` measures one anew.",
            "Providers and latencies are simulated: no figure here cost anything.",
        ),
        *([f"Not measured yet: {', '.join(f'`{name}`' for name in missing)}."] if missing else []),
    ]
    for name in TITLES:
        if name in parts:
            part = parts[name]
            images = [f"![{plot['about']}](images/{plot_file(plot['name']).name})" for plot in part.plots]
            lines += [f"## {TITLES[name]}", part.markdown.strip(), *images, f"`{name}`: {part.circumstances}."]
    return "\n\n".join(lines) + "\n"
