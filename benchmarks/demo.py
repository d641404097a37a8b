"""`make demo`: train the weak tidy-tables skill in a scratch repository and show what came of it.

Owns the scratch repository, which is made anew under `.demo/` and never touches the checkout's own
branches. Everything else is the ordinary command line, printed before it runs.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["main", "make_repository"]

_CHECKOUT = Path(__file__).resolve().parent.parent
_SCRATCH = _CHECKOUT / ".demo"
_SKILL = "tidy-tables"
_CONFIG = f"""\
[skills.{_SKILL}]
path = "skills/{_SKILL}"
suite = "suites/tidy_tables"
harness = "demo"  # a program that understands table rules only, not a language model
model = "demo"
epochs = 10     # rollouts of the demo target cost nothing, so train longer than by default
patience = 4
"""


def main(arguments: list[str] | None = None) -> int:
    """Make the repository, train, and show scores, versions and where to look further."""
    parser = argparse.ArgumentParser(prog="make demo", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the run")
    parser.add_argument("--preset", default="default", help="default or paper")
    parser.add_argument("--folder", type=Path, default=_SCRATCH / "repository", help="where to make the repository")
    chosen = parser.parse_args(arguments)
    folder = chosen.folder.resolve()
    make_repository(folder)
    print(f"A scratch repository with the weak skill and its tasks: {_shown(folder)}")
    print("The target and the optimizer here are small rule-following programs, not language models.\n")
    started = time.monotonic()
    run = ["optimize", _SKILL, "--seed", str(chosen.seed), "--preset", chosen.preset]
    result = json.loads(_skillopt(folder, *run, "--json", capture=True))
    test = result["test"]
    if test is None:
        print("No version was accepted; try another --seed.")
        return 1
    before, after = test["before"], test["after"]
    print(f"\nHeld-out test, {after['measured']} tasks nobody trained on, {time.monotonic() - started:.0f} s:")
    print(f"  weak skill     score {before['score']:.3f}   tables exactly right {before['passed']:.0%}")
    print(f"  trained skill  score {after['score']:.3f}   tables exactly right {after['passed']:.0%}\n")
    _skillopt(folder, "log", _SKILL)
    _skillopt(folder, "diff", _SKILL)
    print("Look further:")
    for command in (f"log -p skillopt/{_SKILL}", f"show skillopt/{_SKILL}:skills/{_SKILL}/SKILL.md"):
        print(f"  git -C {_shown(folder)} {command}")
    for command in (f"report {result['run']}", f"evaluate {_SKILL} --of none --of worktree --of skillopt/{_SKILL}"):
        print(f"  .venv/bin/skillopt -C {_shown(folder)} {command}")
    return 0


def make_repository(folder: Path) -> None:
    """Make a repository that holds the weak skill, the suite and a skillopt.toml, all committed.

    Args:
        folder: Where; what is there is removed, if it is a repository made by this function.

    Raises:
        SystemExit: Something else is there.
    """
    if folder.exists() and any(folder.iterdir()):
        if not (folder / ".git" / "skillopt-demo").exists():
            sys.exit(f"expected an empty folder or an earlier demo, found files in {folder}; choose another --folder")
        shutil.rmtree(folder)
    shutil.copytree(_CHECKOUT / "skills" / _SKILL, folder / "skills" / _SKILL)
    ignored = shutil.ignore_patterns("__pycache__", "*.py")
    shutil.copytree(
        _CHECKOUT / "benchmarks" / "suites" / "tidy_tables", folder / "suites" / "tidy_tables", ignore=ignored
    )
    (folder / "skillopt.toml").write_text(_CONFIG, encoding="utf-8")
    (folder / ".gitignore").write_text(".skillopt/\n", encoding="utf-8")
    author = ["-c", "user.name=SkillOpt demo", "-c", "user.email=demo@localhost"]
    _git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".git" / "skillopt-demo").touch()
    _git(folder, "add", ".")
    _git(folder, *author, "commit", "--quiet", "-m", "Add the tidy-tables skill and its tasks")


def _git(folder: Path, *arguments: str) -> None:
    outside = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", *arguments], cwd=folder, check=True, env=outside)


def _skillopt(folder: Path, *arguments: str, capture: bool = False) -> str:
    """Show a command, run it, and give its stdout when asked for."""
    print(f"$ skillopt {shlex.join(argument for argument in arguments if argument != '--json')}", flush=True)
    command = [sys.executable, "-m", "skillopt", *arguments]
    ended = subprocess.run(command, cwd=folder, check=False, stdout=subprocess.PIPE if capture else None, text=True)
    if ended.returncode:
        sys.exit(ended.returncode)
    if not capture:
        print(flush=True)
    return ended.stdout or ""


def _shown(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


if __name__ == "__main__":
    sys.exit(main())
