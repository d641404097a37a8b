"""Golden files: the whole of what a surface shows, to be read when it changes; `GOLDEN=write` writes them anew."""

import os
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "unit" / "reports" / "golden"


def is_golden(name: str, text: str) -> bool:
    """Return whether a surface shows what its file says."""
    path = _FOLDER / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8") == text
