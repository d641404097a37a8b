"""A generated repository with many trained skills, written by one `git fast-import`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["make_many"]

_BEGUN: Final = 1_767_323_045
"""Seconds of the first commit, since 1970."""

_SAID: Final = "Val-Before: 4 of 8\nVal-After: 6 of 8\nScore: 0.50 to 0.75\nWins-Ties-Losses: 2/6/0\n"


def make_many(folder: Path, skills: int, versions: int, commits: int) -> Path:
    """Make a repository."""
    folder.mkdir(parents=True)
    stream = "".join(_stream(skills, versions, commits)).encode()
    for arguments in (("init", "--initial-branch=main"), ("fast-import", "--force"), ("reset", "--hard")):
        command = ["git", arguments[0], "--quiet", *arguments[1:]]
        subprocess.run(command, cwd=folder, input=stream, check=True)
    return folder


def _stream(skills: int, versions: int, commits: int) -> Iterator[str]:
    names = [f"skill-{number:04}" for number in range(skills)]
    for number in range(commits):
        yield _commit("refs/heads/main", _BEGUN + number, f"Change {number}\n", f"mark :{number + 1}\n")
        yield _file("notes.md", f"{number}\n")
        for name in names if number == 0 else ():
            yield _file(f"skills/{name}/SKILL.md", _document(name, 0))
            yield _file(f"skills/{name}/scripts/run.sh", "#!/bin/sh\n")
            yield _file(f"skills/{name}/evals/evals.json", "{}\n")
        if number == 0:
            yield _file("skillopt.toml", "".join(f'[skills.{name}]\npath = "skills/{name}"\n' for name in names))
    for name in names:
        for number in range(1, versions + 1):
            said = (
                f"Skill: {name}\nVal-Before: 4 of 8\nVal-After: 6 of 8\nScore: 0.50 to 0.75\nWins-Ties-Losses: 2/6/0\n"
            )
            message = f"{name}: add a rule\n\nAdd:\n\n    - Trim the spaces.\n\n{said}"
            yield _commit(f"refs/heads/skillopt/{name}", _BEGUN + commits + number, message)
            if number == 1:
                yield f"from :{commits}\n"
            yield _file(f"skills/{name}/SKILL.md", _document(name, number))


def _commit(ref: str, seconds: int, message: str, mark: str = "") -> str:
    person = f"Benchmark <benchmark@localhost> {seconds} +0000"
    return f"commit {ref}\n{mark}author {person}\ncommitter {person}\n{_data(message)}"


def _file(path: str, text: str) -> str:
    return f"M 100644 inline {path}\n{_data(text)}"


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


def _document(name: str, rules: int) -> str:
    head = f"---\nname: {name}\ndescription: Cleans vendor tables as {name} says.\n---\n# Rules\n\n"
    return head + "- Trim the spaces around every value before it is compared.\n" * (10 + rules)
