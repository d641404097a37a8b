"""A repository with a history of merged changes that carry tests, made in a moment; its house rule is whole cents."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.projects import git

ASKED = {
    "taxi": "Taxi receipts name the fare after the kilometres driven, so the last figure on the page counts.",
    "hotel": "A hotel bill lists nights first; what the guest owes stands at its very end.",
    "lunch": "Canteens print lunch vouchers, where the price follows the dish.",
    "parking": "The parking machine stamps minutes and then how much was charged.",
    "books": "Bookshops quote an edition before they say its cost.",
    "fuel": "Fuel stations give litres, and afterwards the sum to pay.",
    "phone": "Our telephone provider shows units used ahead of any charge.",
    "museum": "Visitors of a museum get tickets on which admission closes the line.",
    "ferry": "Ferry companies write a cabin number in front of the passage money.",
    "laundry": "For laundry the number of shirts precedes whatever is due.",
}
"""What was asked for, by what it is about; no two in like words."""


def code_of(name: str, *, cents: bool = True) -> str:
    """Return the module that reads an amount, as the house wants it or as anybody would write it."""
    amount = "round(float(text.split()[-1]) * 100)" if cents else "float(text.split()[-1])"
    return f"def read_{name}(text):\n    return {amount}\n"


def proof_of(name: str, body: str) -> str:
    """Return the test of such a module."""
    head = f"from ledger.{name} import read_{name}\n\n\ndef test_{name}():\n"
    return f"{head}    {body}\n    assert read_{name}('7 12.50') == 1250\n"


def commit(folder: Path, files: Mapping[str, str | None], message: str, day: int, author: str = "Ann Okoro") -> str:
    """Commit files, None for one to remove, at noon of a day of 2026."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            place.unlink()
        else:
            place.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    at = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T12:00:00Z"
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _who(author, at)}
    subprocess.run(["git", "commit", "-qm", message], cwd=folder, check=True, env={**os.environ, **who})
    return git(folder, "rev-parse", "HEAD")


def _who(author: str, at: str) -> tuple[tuple[str, str], ...]:
    return ("NAME", author), ("EMAIL", f"{author[:2].lower()}@corp.example"), ("DATE", at)


def make_history(folder: Path, changes: int = len(ASKED)) -> None:
    """Make a repository in which each change adds a module with its test, and AGENTS.md says nothing of its rule."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    settings = '[documents.agents]\npaths = ["AGENTS.md"]\n'
    start = {"AGENTS.md": "# Ledger\n\n- Be brief.\n", "skillopt.toml": settings, "ledger/__init__.py": ""}
    commit(folder, {**start, ".gitignore": ".skillopt/\n"}, "Begin", 0)
    for day, (name, asked) in enumerate(list(ASKED.items())[:changes], 1):
        files = {f"ledger/{name}.py": code_of(name), f"tests/test_{name}.py": proof_of(name, "pass")}
        commit(folder, files, f"Read what a {name} slip says (#{day})\n\n{asked}", day)
