"""`make demo-review`: a night over three skills, shown as it happens.

Owns the scratch repository with its bare remote, made anew under `.demo/`, and the order of the story. All that is
shown comes from the ordinary command line. It is offline: pull requests are files (forge `none`), what is measured is
the rule-following program that is built in, and the broken provider is a port of this machine where nobody listens.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.demo.__main__ import make_repository


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the story."""

    told: str
    command: str
    printed: str
    status: int


_SCRATCH: Final = Path(__file__).resolve().parent.parent / ".demo" / "review"
_TASKS: Final = {"train": 24, "val": 24, "test": 24}
_CONFIG: Final = """\
harness = "demo"   # a program that understands table rules only, not a language model
model = "demo"

[nightly]
forge = "none"    # pull requests are files in .skillopt/pull-requests

[skills.tidy-tables]
suite = "suites/tidy_tables"

[skills.lower-emails]
suite = "suites/lower-emails.jsonl"

[skills.weekly-total]
suite = "suites/weekly-total.jsonl"
harness = "chat/openai-compatible/llama"
base_url = "http://127.0.0.1:9/v1"    # nobody listens there
retry_seconds = 0                     # so do not wait for it
workers = 1
"""
_SKILL: Final = """\
---
name: {name}
description: {description}
---
# {name}

{rules}"""
_OTHERS: Final = {
    "lower-emails": (
        "Brings contact lists (CSV) to the house format. Use before contacts are imported.",
        "- Trim spaces around every value.\n- Write e-mail addresses in lower case.\n",
    ),
    "weekly-total": (
        "Adds up the orders of a week. Use for the report on Mondays.",
        "- Answer with the number only.\n",
    ),
}
_NIGHTS: Final = (
    ("A night: one skill improves, one does not, one has a dead provider.", "skillopt nightly --quiet"),
    (
        "What improved is a branch of the remote.",
        "git fetch --quiet && git log --format='%h %s' --stat main..origin/skillopt/tidy-tables",
    ),
    ("What its pull request says is a file, for want of a forge.", "head -n 7 .skillopt/pull-requests/*.md"),
    ("The report is one HTML file.", "skillopt report tidy-tables -o report.html && ls report.html"),
)


def main(arguments: list[str] | None = None) -> int:
    """Tell the story on the terminal, offline."""
    parser = argparse.ArgumentParser(prog="make demo-review", description=main.__doc__)
    parser.add_argument("--folder", type=Path, default=_SCRATCH, help="where to make the repository and its remote")
    folder = parser.parse_args(arguments).folder.resolve()
    clone = make_remote(folder)
    print("Offline: no forge, so pull requests are files; target and optimizer are rule-following programs.")
    print(f"Repository: {clone}\nRemote:     {folder / 'remote.git'}")
    for step in tell(clone):
        print(f"\n# {step.told}\n$ {step.command}\n{step.printed}(exit status {step.status})", flush=True)
    return 0


def make_remote(folder: Path) -> Path:
    """Make a repository with three skills and a bare remote, and give the repository."""
    clone, remote = folder / "repository", folder / "remote.git"
    if remote.exists() and not (clone / ".git" / "skillopt-demo").exists():
        sys.exit(f"expected an empty folder or an earlier demo, found {remote}; choose another --folder")
    make_repository(clone)
    shutil.rmtree(remote, ignore_errors=True)
    tasks = clone / "suites" / "tidy_tables" / "tasks.jsonl"
    lines = tasks.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for split, count in _TASKS.items() for line in [one for one in lines if f'"{split}"' in one][:count]]
    tasks.write_text("".join(kept), encoding="utf-8")
    for name, (description, rules) in _OTHERS.items():
        (clone / "skills" / name).mkdir()
        text = _SKILL.format(name=name, description=description, rules=rules)
        (clone / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
        made = [_task(name, split, number) for split in _TASKS for number in range(12)]
        suite = "".join(json.dumps(task) + "\n" for task in made)
        (clone / "suites" / f"{name}.jsonl").write_text(suite, encoding="utf-8")
    (clone / "skillopt.toml").write_text(_CONFIG, encoding="utf-8")
    commands = f"""\
        git config user.name Robin && git config user.email robin@localhost
        git add . && git commit --quiet -m 'Add two more skills'
        git clone --quiet --bare . {shlex.quote(str(remote))}
        git remote add origin {shlex.quote(str(remote))} && git fetch --quiet origin"""
    for command in commands.splitlines():
        run(clone, command.strip())
    return clone


def _task(skill: str, split: str, number: int) -> dict[str, object]:
    """Make a task of one of the two small suites."""
    name = f"{split}-{number:02}"
    if skill == "weekly-total":
        prompt = f"Orders of the week {name}: {number}, {number + 7} and 12. What is the total?"
        return {"id": name, "split": split, "prompt": prompt, "verifier": {"kind": "numeric", "value": 2 * number + 19}}
    dirty, clean = f"id,email\n{name}, {name}@EXAMPLE.com \n", f"id,email\n{name},{name}@example.com\n"
    return {
        "id": name,
        "split": split,
        "prompt": f"Clean the contact list input.csv of {name} to the house format and write output.csv.",
        "files": [{"path": "input.csv", "text": dirty}],
        "verifier": {
            "kind": "table",
            "file": "output.csv",
            "expected": "expected.csv",
            "files": [{"path": "expected.csv", "text": clean}],
        },
    }


def tell(clone: Path) -> Iterator[Step]:
    """Live through the story in a repository that `make_remote` made."""
    for told, command in _NIGHTS:
        yield run(clone, command, told)


def run(clone: Path, command: str, told: str = "") -> Step:
    """Run a command as a shell would, in the repository."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SKILLOPT_"))}
    program = f'skillopt() {{ {shlex.quote(sys.executable)} -m skillopt "$@"; }}\n{command}'
    ended = subprocess.run(
        ["sh", "-uc", program],
        cwd=clone,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=outside,
    )
    return Step(told, command, ended.stdout, ended.returncode)


if __name__ == "__main__":
    sys.exit(main())
