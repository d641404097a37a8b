"""Generate docs/examples/ from real runs with the built-in target; `--check` only compares.

python -m tools.generate_examples            train in scratch folders, write the pages
python -m tools.generate_examples --check    exit 1 when a page is out of date

Ids, commits and times differ from run to run, so names stand for them; all else comes out the same every time.
The sessions of agents are not made here (`make transcripts`).
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.example_check import make_check
from tools.example_demo import make_demo
from tools.example_prompt import make_prompt
from tools.example_review import make_review
from tools.generate_docs import write_pages

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "docs" / "examples"

MAKERS: Final[Mapping[str, Callable[[Path], dict[str, str]]]] = {
    "check": make_check,
    "demo": make_demo,
    "prompt": make_prompt,
    "review": make_review,
}
"""What makes pages in an empty folder; each run serves one or more of them."""


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    return write_pages(EXAMPLES, _made(), check="--check" in arguments)


def _made() -> Iterator[tuple[str, str]]:
    for make in MAKERS.values():
        with tempfile.TemporaryDirectory(prefix="skillopt-example-") as scratch:
            yield from make(Path(scratch).resolve() / "repository").items()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
