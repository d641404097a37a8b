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
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_SCRATCH = _CHECKOUT / ".demo"
_SKILL = "tidy-tables"
_DIFF_LINES = 10
_CONFIG = f"""\
[skills.{_SKILL}]
path = "skills/{_SKILL}"
suite = "suites/tidy_tables"
harness = "demo"  # a program that understands table rules only, not a language model
model = "demo"
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
    print(f"Trains a weak skill for cleaning tables, in a scratch repository: {_shown(folder)}")
    print("Offline and simulated: target and optimizer model are the program `demo`, not a language model.\n")
    _skillopt(folder, "optimize", _SKILL, "--set", f"seed={chosen.seed}", "--set", f"preset={chosen.preset}")
    run = json.loads(_skillopt(folder, "report", "--json", shown=False))
    if not any(version["number"] for version in run["versions"]):
        print("No version was accepted; try another --seed.")
        return 1
    changed = _skillopt(folder, "diff", _SKILL, shown=False).splitlines()
    print(f"$ skillopt diff {_SKILL}")
    print("\n".join(changed[:_DIFF_LINES]))
    print(f"[{len(changed) - _DIFF_LINES} more lines]\n\nLook further:")
    print(f"  git -C {_shown(folder)} log -p skillopt/{_SKILL}")
    both = f"evaluate {_SKILL} --of worktree --of skillopt/{_SKILL}"
    for command in (f"log {_SKILL}", f"diff {_SKILL}", f"report {run['run']}", both):
        print(f"  .venv/bin/skillopt -C {_shown(folder)} {command}")
    return 0


def make_repository(folder: Path) -> None:
    """Make a repository that holds the weak skill, the suite and a skillopt.toml, all committed."""
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


def _skillopt(folder: Path, *arguments: str, shown: bool = True) -> str:
    """Run a command; show it with what it prints, or give that."""
    if shown:
        print(f"$ skillopt {shlex.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "skillopt", *arguments]
    ended = subprocess.run(command, cwd=folder, check=False, stdout=None if shown else subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(ended.returncode)
    if shown:
        print(flush=True)
    return ended.stdout or ""


def _shown(folder: Path) -> str:
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


if __name__ == "__main__":
    sys.exit(main())
